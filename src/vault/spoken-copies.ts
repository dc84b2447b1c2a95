// Small copies of the transcripts of Claude Code that only the vault has, for the search index: what was said, without tools and their
// results. They can be deleted at any time, and are made again from the vault.
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionTranscript } from '../domain/discovered-session.ts'
import { isRecord } from '../domain/json.ts'
import { writeFileAtomically } from '../store/disk/atomic-file.ts'
import type { KeptSession, Vault } from './vault.ts'

/** Makes missing copies, removes those of sessions that are not gone, and resolves to all of them. */
export async function spokenCopies(vault: Vault, folder: string): Promise<SessionTranscript[]> {
  // Nothing of an encrypted vault is readable on disk, so what only it has cannot be searched.
  const gone = vault.isEncrypted ? [] : (await vault.gone()).filter(({ agent }) => agent === 'claude')
  const wanted = new Map(gone.map((session) => [`${session.sessionId}.jsonl`, session]))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const present = new Set(readdirSync(folder))
  for (const name of present) if (!wanted.has(name)) rmSync(join(folder, name), { force: true })
  const copies: SessionTranscript[] = []
  for (const [name, session] of wanted) {
    const path = join(folder, name)
    if (!present.has(name)) await writeFileAtomically(path, spokenLines(vault, session))
    copies.push(transcriptAt(path, session))
  }
  return copies
}

function transcriptAt(path: string, { sessionId, about }: KeptSession): SessionTranscript {
  const { ino: inode, size, mtimeMs } = statSync(path)
  const text = (name: string): string => (typeof about[name] === 'string' ? about[name] : '')
  const agentId = text('agentId') || undefined
  return {
    sessionId,
    agentId,
    repoPath: text('repoPath'),
    branch: text('branch'),
    path,
    inode,
    size,
    mtimeMs,
  }
}

async function* spokenLines(vault: Vault, { sessionId }: KeptSession): AsyncGenerator<string> {
  const main = vault.files(sessionId).find(({ about }) => about !== null)
  if (!main) return
  let rest = Buffer.alloc(0)
  for await (const bytes of vault.content(main)) {
    const all = Buffer.concat([rest, bytes])
    const end = all.lastIndexOf(10) + 1
    for (const line of all.subarray(0, end).toString('utf8').split('\n')) {
      const spoken = spokenPart(line)
      if (spoken) yield `${JSON.stringify(spoken)}\n`
    }
    rest = all.subarray(end)
  }
}

/** A record of the conversation without tools, results and images; undefined if no words are left. */
function spokenPart(line: string): object | undefined {
  if (!line.includes('"message"')) return undefined
  try {
    const record = JSON.parse(line) as Record<string, unknown>
    const { message, toolUseResult: _, ...rest } = record
    if (!isRecord(message)) return undefined
    const { content } = message
    if (typeof content === 'string') return { ...rest, message: { role: message['role'], content } }
    if (!Array.isArray(content)) return undefined
    const texts = content.filter((part) => isRecord(part) && part['type'] === 'text')
    const about = { id: message['id'], role: message['role'], model: message['model'] }
    return texts.length === 0 ? undefined : { ...rest, message: { ...about, content: texts } }
  } catch {
    // A damaged line has nothing that could be found.
    return undefined
  }
}
