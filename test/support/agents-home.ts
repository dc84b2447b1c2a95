// A user's folder with recorded sessions of other agents, and a Rockpool that keeps them.
import { hash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openApp } from '../../src/app.ts'
import { operator } from '../../src/cli/call-operation.ts'
import { perform } from '../../src/operations/all.ts'
import type { App } from '../../src/operations/app.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { readRows, rowsPlace } from '../../src/store/sqlite/session-rows.ts'
import { keepSome } from '../../src/vault/follow.ts'

const recorded = join(import.meta.dirname, '../fixtures/agents')

interface Listed {
  sessions: Array<{ sessionId: string; agentKind: string; firstMessage: string; kept?: boolean }>
}

export class AgentsHome {
  readonly folder = mkdtempSync(join(tmpdir(), 'rockpool-vault-agents-'))
  readonly database = join(this.folder, '.local/share/opencode/opencode.db')
  readonly #sources: Record<string, string>
  app!: App

  /** By place below the user's folder the recorded sessions that are copied there. */
  constructor(sources: Record<string, string>) {
    this.#sources = sources
  }

  async open(): Promise<void> {
    const variables = { HOME: this.folder, ROCKPOOL_STATE_DIR: join(this.folder, 'state') }
    this.app = await openApp(readEnvironment(variables), { version: 'test' })
  }

  /** Puts the recorded sessions there as they were. */
  fill(): void {
    for (const [place, source] of Object.entries(this.#sources)) {
      rmSync(join(this.folder, place), { recursive: true, force: true })
      cpSync(join(recorded, source), join(this.folder, place), { recursive: true })
    }
  }

  async close(): Promise<void> {
    await this.app.close()
    rmSync(this.folder, { recursive: true })
  }

  call(name: string, input: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    return perform(this.app, name, input, operator) as Promise<Record<string, unknown>>
  }

  /** Resolves to the bytes that were read. */
  async keep(): Promise<number> {
    await this.app.discovery().refresh()
    return keepSome({ vault: await this.app.vault(), discovery: this.app.discovery() }, () => false)
  }

  async list(): Promise<Listed['sessions']> {
    return ((await this.call('cc.list', { limit: 500 })) as unknown as Listed).sessions
  }

  /** Every session is kept, deleted, listed, read, found by its first prompt, and restored byte for byte and row for row. */
  async expectComesBack(): Promise<Listed['sessions']> {
    await this.keep()
    const before = await this.list()
    const ids = before.map(({ sessionId }) => sessionId).sort()
    const cards = new Map<string, unknown>()
    for (const id of ids) cards.set(id, (await this.call('cc.read', { id }))['cards'])
    const digests = new Map((await this.#keptFiles()).map((path) => [path, digestOf(path)]))
    for (const place of Object.keys(this.#sources)) rmSync(join(this.folder, place), { recursive: true })

    const after = await this.list()
    expect(after.map(({ sessionId }) => sessionId).sort()).toEqual(ids)
    expect(after.every((session) => session.kept)).toBe(true)
    for (const id of ids)
      expect(await this.call('cc.read', { id }), id).toMatchObject({ kept: true, cards: cards.get(id) })
    const [words] = /[\w ,]+/.exec(before.find(({ firstMessage }) => firstMessage.length > 12)!.firstMessage)!
    const { hits } = await this.call('sessions.search', { query: `"${words}"`, limit: 50 })
    expect(hits).toContainEqual(expect.objectContaining({ kept: true }))

    expect(await this.call('vault.restore', { all: true })).toMatchObject({ conflicts: 0, damaged: 0 })
    for (const [path, digest] of digests) expect(digestOf(path), path).toBe(digest)
    expect((await this.list()).some((session) => session.kept)).toBe(false)
    for (const id of ids)
      expect(await this.call('cc.read', { id }), id).toMatchObject({ cards: cards.get(id) })
    return before
  }

  async #keptFiles(): Promise<string[]> {
    const vault = await this.app.vault()
    return (await vault.sessions()).flatMap(({ sessionId }) =>
      vault.files(sessionId).map(({ root, path }) => join(root, path)),
    )
  }
}

function digestOf(path: string): string {
  const rows = rowsPlace(path)
  return hash('sha256', rows ? readRows(rows)! : readFileSync(path))
}
