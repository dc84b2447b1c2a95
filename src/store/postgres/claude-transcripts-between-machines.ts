// Claude's transcripts on several machines: what Claude writes here goes to the shared store, and before a session is resumed
// here its file is updated from there. Claude's project keys contain paths, which differ between machines, so one key is used.
import { mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import { attempt } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { SessionKey, SessionStore, SessionStoreEntry } from '../../domain/sdk-contract.ts'
import { unlessMissing, writeFileAtomically } from '../disk/atomic-file.ts'
import { openForeignHandle } from '../disk/foreign-file.ts'
import { timestamp } from '../files/recover-sessions.ts'
import type { SharedClaudeTranscripts } from '../storage.ts'

const projectKey = 'rockpool'

type Upload = (entries: SessionStoreEntry[]) => Promise<void>

/** `configDir` is Claude's own directory on this machine. */
export function sharedClaudeTranscripts(
  store: Required<Pick<SessionStore, 'append' | 'load' | 'listSubkeys'>>,
  configDir: string,
  parts: { clock: Clock; log: Log },
): SharedClaudeTranscripts {
  const shared = (key: SessionKey): SessionKey => ({ ...key, projectKey })
  const bring = async (key: SessionKey): Promise<void> => {
    const entries = (await store.load(shared(key))) ?? []
    const upload: Upload = (more) => store.append(shared(key), more)
    await bringUpToDate(fileOf(configDir, key), entries, { ...parts, upload })
  }
  return {
    sdkStore: {
      append: (key, entries) => store.append(shared(key), entries),
      /** Claude resumes from its own file; this is the moment to have it there. */
      async load(key) {
        await bring(key)
        for (const subpath of await store.listSubkeys(shared(key))) await bring({ ...key, subpath })
        return null
      },
    },
    entries: (sessionId) => store.load({ projectKey, sessionId }),
  }
}

function fileOf(configDir: string, { projectKey: project, sessionId, subpath }: SessionKey): string {
  for (const part of [project, sessionId, ...(subpath?.split('/') ?? [])]) {
    if (!/^[\w.-]+$/.test(part) || part === '..')
      throw new Error(`${JSON.stringify(part)} is no part of a path`)
  }
  const name = subpath === undefined ? `${sessionId}.jsonl` : join(sessionId, `${subpath}.jsonl`)
  return join(configDir, 'projects', project, name)
}

async function readTranscript(file: string): Promise<string> {
  try {
    await using handle = await openForeignHandle(file)
    return await handle.readFile('utf8')
  } catch (error) {
    unlessMissing(error)
    return ''
  }
}

/**
 * The file gets what the others have. What only the file has, because it is older than the store or the store was away, goes to the
 * others. If both have records that the other one lacks, the others continued the conversation while this machine was cut off: then
 * theirs counts, and the file of this machine is kept under another name.
 */
async function bringUpToDate(
  file: string,
  entries: SessionStoreEntry[],
  { upload, clock, log }: { upload: Upload; clock: Clock; log: Log },
): Promise<void> {
  const text = await readTranscript(file)
  const here = parseLines(text)
  const known = new Set(here.map((entry) => entry.uuid))
  const theirs = new Set(entries.map((entry) => entry.uuid))
  const ownOnly = here.filter(({ uuid }) => uuid !== undefined && !theirs.has(uuid))
  const isComplete = here.length > 0 && entries.every(({ uuid }) => uuid === undefined || known.has(uuid))
  if (isComplete) {
    const missing = entries.length === 0 ? here : ownOnly
    if (missing.length > 0) await upload(missing)
    return
  }
  if (entries.length === 0) return
  if (ownOnly.length > 0) {
    const aside = `${file}.replaced-${timestamp(clock.now())}`
    await writeFileAtomically(aside, text)
    log.warn(
      { event: 'claude-transcript-set-aside', file, aside, records: ownOnly.length },
      `Another machine continued this session of Claude; what only this machine had is in ${basename(aside)}.`,
    )
  }
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFileAtomically(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
}

function parseLines(text: string): SessionStoreEntry[] {
  return text.split('\n').flatMap((line) => {
    // Fails for a torn line: its writer died; the shared store has the records before it.
    return attempt(() => (line === '' ? [] : [JSON.parse(line) as SessionStoreEntry]), [])
  })
}
