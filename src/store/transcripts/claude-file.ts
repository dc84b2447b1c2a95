// Claude's own files of a session, which are not ours. On request Rockpool writes small files beside the transcript (title,
// archive mark), or removes the transcript; it never changes one here.
import { existsSync, readdirSync } from 'node:fs'
import { rm, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { syncDirectory, writeFileAtomically } from '../disk/atomic-file.ts'

/** The transcripts that Claude has of a session on this machine: one for each folder that it was resumed in. */
export function claudeFilesOf(configDir: string, sessionId: string): string[] {
  if (!/^[\w-]+$/.test(sessionId)) return []
  const projects = join(configDir, 'projects')
  const folders = existsSync(projects) ? readdirSync(projects) : []
  return folders
    .map((folder) => join(projects, folder, `${sessionId}.jsonl`))
    .filter((path) => existsSync(path))
}

/** The transcript, and the folder beside it with those of its sub-agents. */
export async function removeClaudeTranscript(path: string): Promise<void> {
  if (!path.endsWith('.jsonl')) throw new RockpoolError('refused', `${path} is no transcript of Claude's.`)
  await rm(path, { force: true })
  await rm(path.slice(0, -'.jsonl'.length), { recursive: true, force: true })
  await syncDirectory(dirname(path))
}

export async function writeNativeTitle(transcript: string, title: string): Promise<void> {
  await writeSideFile(transcript, 'custom-title.json', { customTitle: title })
}

export async function writeNativeArchived(transcript: string, archived: boolean): Promise<void> {
  await writeSideFile(transcript, 'archived.json', { archived })
}

async function writeSideFile(transcript: string, name: string, content: object): Promise<void> {
  const folder = transcript.replace(/\.jsonl$/, '')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFileAtomically(join(folder, name), `${JSON.stringify(content)}\n`)
}
