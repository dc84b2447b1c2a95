// The edits of sessions that only the vault has, so that their lines still have a session. Their transcripts are scanned once, and the
// hashes stay in the index folder; they can be deleted, and are made again from the vault.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { RecordFacts } from '../../discovery/agents/record-facts.ts'
import { EditTable, hasName, nameHash } from '../../discovery/edit-table.ts'
import { indexFormat } from '../../discovery/native-index.ts'
import { TranscriptScanner } from '../../discovery/transcript-scanner.ts'
import { newFacts } from '../../discovery/transcript-facts.ts'
import { UsageTable } from '../../discovery/usage-table.ts'
import type { AgentConversation } from '../../domain/agent-records.ts'
import type { DiscoveredSession, TranscriptEdits, WantedEdits } from '../../domain/discovered-session.ts'
import { attempt } from '../../domain/errors.ts'
import { parseStored } from '../../domain/json.ts'
import { writeFileAtomically } from '../../store/disk/atomic-file.ts'
import { readForeign } from '../../store/disk/foreign-file.ts'
import { readingPrefix } from '../../store/paths.ts'
import type { Vault } from '../../vault/vault.ts'
import { EditReader } from '../../why/edit-reader.ts'
import type { WhyParts } from '../../why/explain-lines.ts'
import type { App } from '../app.ts'
import { keptConversation } from '../vault/kept-sessions.ts'

/** The edits of one session on disk. */
interface StoredEdits {
  format: string
  transcripts: Array<{ path: string; edits: string }>
}

interface PackedEdits {
  path: string
  edits: Uint8Array
}

const longestFile = 64 << 20

/** Discovery with the sessions that only the vault has. Its temporary copies of transcripts exist until it is disposed. */
interface KeptWorld extends AsyncDisposable {
  discovery: WhyParts['discovery']
  reader: EditReader
}

/** `goneSessions`: those that only the vault has. Undefined for an encrypted vault: nothing of it is readable on disk, so it has no such
 *  index. */
export async function openKeptWorld(
  app: App,
  { discovery: live }: Pick<WhyParts, 'discovery'>,
  goneSessions: readonly DiscoveredSession[],
): Promise<KeptWorld | undefined> {
  const vault = await app.vault()
  if (vault.isEncrypted) return undefined
  const gone = new Map(goneSessions.map((session) => [session.sessionId, session]))
  const kept = new KeptSessions(app, vault, gone)
  const edits = await kept.edits()
  const discovery: WhyParts['discovery'] = {
    known: async (ids) => {
      const wanted = [...ids]
      return [...(await live.known(wanted)), ...wanted.flatMap((id) => gone.get(id) ?? [])]
    },
    edits: async () => {
      const present = await live.edits()
      return {
        find: (wanted = {}) => [...present.find(wanted), ...edits.filter(isWanted(wanted))],
        inUse: (...asked) => present.inUse(...asked),
      }
    },
  }
  const reader = new EditReader(
    { conversation: (sessionId) => kept.conversation(sessionId) },
    (path, sessionId) => kept.copyOf(path, sessionId),
  )
  return { discovery, reader, [Symbol.asyncDispose]: () => kept.removeCopies() }
}

/** What an answer without a known session says about sessions of an encrypted vault. */
export function notSearched({ length }: readonly DiscoveredSession[]): string | undefined {
  if (length === 0) return undefined
  const sessions = length === 1 ? '1 session' : `${length} sessions`
  return `${sessions} that only the vault has could not be searched, because the vault is encrypted. \`rockpool vault list\` shows them; \`rockpool vault restore <id>\` brings one back.`
}

function isWanted({ names, sessionId }: WantedEdits): (edits: TranscriptEdits) => boolean {
  const hashes = names && new Set(names.map(nameHash))
  return (one) =>
    (sessionId === undefined || one.sessionId === sessionId) &&
    (hashes === undefined || hasName(new EditTable(one.edits).names(), hashes))
}

class KeptSessions {
  readonly #app: App
  readonly #vault: Vault
  readonly #folder: string
  readonly #sessions: ReadonlyMap<string, DiscoveredSession>
  readonly #copies = new Map<string, Promise<string>>()

  constructor(app: App, vault: Vault, gone: ReadonlyMap<string, DiscoveredSession>) {
    this.#app = app
    this.#vault = vault
    this.#folder = app.paths.keptEdits
    this.#sessions = gone
  }

  /** Scans sessions that are new here, and forgets those that the vault no longer has. */
  async edits(): Promise<TranscriptEdits[]> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(this.#folder))
      if (!this.#sessions.has(name.replace(/\.json$/, ''))) rmSync(join(this.#folder, name), { force: true })
    const all: TranscriptEdits[] = []
    for (const session of this.#sessions.values()) {
      const { sessionId, agentKind } = session
      const { transcripts } = this.#read(sessionId) ?? (await this.#scan(session))
      for (const { path, edits } of transcripts)
        all.push({ sessionId, path, agentKind, edits: Buffer.from(edits, 'base64') })
    }
    return all
  }

  #read(sessionId: string): StoredEdits | undefined {
    const path = join(this.#folder, `${sessionId}.json`)
    const stored = attempt(() => parseStored<StoredEdits>(readForeign(path, longestFile).toString('utf8')))
    return stored?.format === indexFormat ? stored : undefined
  }

  async #scan(session: DiscoveredSession): Promise<StoredEdits> {
    const scanned = session.agentKind === 'claude' ? this.#scanClaude(session) : this.#scanOther(session)
    const transcripts = (await scanned)
      .filter(({ edits }) => edits.byteLength > 0)
      .map(({ path, edits }) => ({ path, edits: Buffer.from(edits).toString('base64') }))
    const stored = { format: indexFormat, transcripts }
    await writeFileAtomically(join(this.#folder, `${session.sessionId}.json`), JSON.stringify(stored))
    return stored
  }

  async #scanClaude({ sessionId, configDir }: DiscoveredSession): Promise<PackedEdits[]> {
    const scanner = new TranscriptScanner()
    const transcripts: PackedEdits[] = []
    for (const { path } of this.#vault.files(sessionId).filter((file) => file.path.endsWith('.jsonl'))) {
      const original = join(configDir, path)
      const copy = await this.copyOf(original, sessionId)
      const edits = attempt(() => scanner.scan(copy).edits.pack(), new Uint8Array())
      transcripts.push({ path: original, edits })
    }
    return transcripts
  }

  async #scanOther({ sessionId, filePath }: DiscoveredSession): Promise<PackedEdits[]> {
    // A damaged copy has no edits.
    const { records } = await this.conversation(sessionId).catch(() => ({ records: [] }))
    const scanned = { facts: newFacts(), usage: new UsageTable(), edits: new EditTable() }
    const reader = new RecordFacts(scanned)
    for (const record of records) reader.take(record)
    return [{ path: filePath, edits: scanned.edits.pack() }]
  }

  conversation(sessionId: string): Promise<AgentConversation> {
    const kept = this.#sessions.get(sessionId)
    return kept ? keptConversation(this.#app, kept) : this.#app.discovery().conversation(sessionId)
  }

  /** Where a transcript can be read: a copy for a session that is gone. */
  async copyOf(path: string, sessionId: string): Promise<string> {
    const session = this.#sessions.get(sessionId)
    if (!session) return path
    const copied = this.#copies.get(sessionId) ?? this.#restore(sessionId)
    this.#copies.set(sessionId, copied)
    return join(await copied, relative(session.configDir, path))
  }

  async #restore(sessionId: string): Promise<string> {
    const folder = await mkdtemp(join(this.#app.paths.vault, readingPrefix))
    await this.#vault.restore(sessionId, folder)
    return folder
  }

  async removeCopies(): Promise<void> {
    for (const copied of this.#copies.values()) await rm(await copied, { recursive: true, force: true })
  }
}
