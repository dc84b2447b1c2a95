// A folder for transcripts that is gone after the test, and short ways to fill it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ContextMessage, TranscriptEntry } from '../../src/domain/transcript.ts'
import { contextOf } from '../../src/domain/transcript.ts'
import { FileTranscripts } from '../../src/store/transcripts/transcript-file.ts'
import type { TranscriptOptions } from '../../src/store/transcripts/transcript-file.ts'
import type { TranscriptRef } from '../../src/store/session-store.ts'

export { answered, everyKind, said, talk } from './talk.ts'

export const cwd = '/home/dev/workspace'

export function transcriptFolder(options: Partial<TranscriptOptions> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'rockpool-transcripts-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const dir = join(root, 'agents', 'main', 'sessions')
  const transcripts = new FileTranscripts({ agentId: 'main', dir, ...options })
  return { root, dir, transcripts, file: (id: string) => join(dir, `${id}.jsonl`) }
}

export async function pathOf(
  transcripts: FileTranscripts,
  ref: TranscriptRef,
  onDamage?: (what: string) => void,
) {
  return all(transcripts.path(ref, undefined, onDamage))
}

/** The texts that the model would see. */
export async function textsOf(transcripts: FileTranscripts, ref: TranscriptRef): Promise<string[]> {
  return contextOf(await pathOf(transcripts, ref)).messages.map(textOf)
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

export function lines(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').filter(Boolean)
}

export function put(file: string, content: string | Buffer): void {
  writeFileSync(file, content)
}

/** Every entry but the first hangs below the one before it. */
export function isChain(entries: TranscriptEntry[]): boolean {
  return entries.every((entry, at) => entry.parentId === (entries[at - 1]?.id ?? null))
}

function textOf(message: ContextMessage): string {
  if ('summary' in message && typeof message.summary === 'string') return message.summary
  const content = 'content' in message ? message.content : undefined
  if (typeof content === 'string') return content
  return Array.isArray(content)
    ? content.map((block: { text?: string; type: string }) => block.text ?? `[${block.type}]`).join('')
    : `[${message.role}]`
}
