// The edits of sessions that only the vault has, so that their lines still have a session. Their transcripts are scanned once, and the
// hashes stay in the index folder; they can be deleted, and are made again from the vault.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { EditTable, hasName, nameHash } from '../../discovery/edit-table.ts'
import { indexFormat } from '../../discovery/native-index.ts'
import { TranscriptScanner } from '../../discovery/scan.ts'
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
import { goneSessions } from '../vault/kept-sessions.ts'

/** The edits of one session on disk. */
interface StoredEdits {
  format: string
  transcripts: Array<{ path: string; edits: string }>
}

const longestFile = 64 << 20

/** Discovery with the sessions that only the vault has. Copies that are read exist until it is disposed. */
export interface KeptWorld extends AsyncDisposable {
  discovery: WhyParts['discovery']
  reader: EditReader
}

/** Undefined if there are no such sessions. Nothing of an encrypted vault is readable on disk, so it has no such index. */
export async function openKeptWorld(app: App): Promise<KeptWorld | undefined> {
  const vault = await app.vault()
  const gone = vault.isEncrypted
    ? []
    : (await goneSessions(app)).filter(({ agentKind }) => agentKind === 'claude')
  const kept = new KeptSessions(vault, app.paths, gone)
  const edits = await kept.edits()
  if (edits.length === 0) return undefined
  const live = app.discovery()
  const known = async (ids: Iterable<string>): Promise<DiscoveredSession[]> => {
    const wanted = new Set(ids)
    return [...(await live.known(wanted)), ...gone.filter(({ sessionId }) => wanted.has(sessionId))]
  }
  const discovery: WhyParts['discovery'] = {
    list: (filter) => live.list(filter),
    known,
    edits: async (wanted = {}) => [...(await live.edits(wanted)), ...edits.filter(isWanted(wanted))],
  }
  const reader = new EditReader(live, (path, sessionId) => kept.copyOf(path, sessionId))
  return { discovery, reader, [Symbol.asyncDispose]: () => kept.removeCopies() }
}

function isWanted({ names, sessionId }: WantedEdits): (edits: TranscriptEdits) => boolean {
  const hashes = names && new Set(names.map(nameHash))
  return (one) =>
    (sessionId === undefined || one.sessionId === sessionId) &&
    (hashes === undefined || hasName(new EditTable(one.edits).names(), hashes))
}

class KeptSessions {
  readonly #vault: Vault
  readonly #folder: string
  readonly #vaultFolder: string
  readonly #sessions: ReadonlyMap<string, DiscoveredSession>
  readonly #copies = new Map<string, Promise<string>>()

  constructor(vault: Vault, paths: App['paths'], gone: readonly DiscoveredSession[]) {
    this.#vault = vault
    this.#folder = paths.keptEdits
    this.#vaultFolder = paths.vault
    this.#sessions = new Map(gone.map((session) => [session.sessionId, session]))
  }

  /** Scans sessions that are new here, and forgets those that the vault no longer has. */
  async edits(): Promise<TranscriptEdits[]> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(this.#folder))
      if (!this.#sessions.has(name.replace(/\.json$/, ''))) rmSync(join(this.#folder, name), { force: true })
    const all: TranscriptEdits[] = []
    for (const sessionId of this.#sessions.keys()) {
      const { transcripts } = this.#read(sessionId) ?? (await this.#scan(sessionId))
      for (const { path, edits } of transcripts)
        all.push({ sessionId, path, agentKind: 'claude', edits: Buffer.from(edits, 'base64') })
    }
    return all
  }

  #read(sessionId: string): StoredEdits | undefined {
    const path = join(this.#folder, `${sessionId}.json`)
    const stored = attempt(() => parseStored<StoredEdits>(readForeign(path, longestFile).toString('utf8')))
    return stored?.format === indexFormat ? stored : undefined
  }

  async #scan(sessionId: string): Promise<StoredEdits> {
    const { configDir } = this.#sessions.get(sessionId)!
    const scanner = new TranscriptScanner()
    const transcripts: StoredEdits['transcripts'] = []
    for (const { path } of this.#vault.files(sessionId).filter((file) => file.path.endsWith('.jsonl'))) {
      const original = join(configDir, path)
      const copy = await this.copyOf(original, sessionId)
      const edits = attempt(() => scanner.scan(copy).edits.pack(), new Uint8Array())
      if (edits.byteLength > 0)
        transcripts.push({ path: original, edits: Buffer.from(edits).toString('base64') })
    }
    const stored = { format: indexFormat, transcripts }
    await writeFileAtomically(join(this.#folder, `${sessionId}.json`), JSON.stringify(stored))
    return stored
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
    const folder = await mkdtemp(join(this.#vaultFolder, readingPrefix))
    await this.#vault.restore(sessionId, folder)
    return folder
  }

  async removeCopies(): Promise<void> {
    for (const copied of this.#copies.values()) await rm(await copied, { recursive: true, force: true })
  }
}
