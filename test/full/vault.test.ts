// The vault under kill -9 and power cuts, with every byte flipped, with a corpus and every fixture deleted and restored, and
// with the real Claude resuming what was restored.
import { execFile, spawn } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDiscovery } from '../../src/discovery/discovery.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { keepAll } from '../../src/vault/follow.ts'
import { claudeBinary, makeClaudeHome, testModel } from '../support/claude-home.ts'
import { makeCorpus } from '../support/corpus.ts'
import { startMessagesApi } from '../support/messages-api.ts'
import { Disk, whyNoPowerCuts } from '../support/power-cut.ts'
import { openTestVault, transcriptOf, writtenSessions } from '../support/vault-writer.ts'

const run = promisify(execFile)
const whyNot = await whyNoPowerCuts()
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-vault-full-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

class Writer {
  #out = ''
  readonly #child
  readonly #ended: Promise<void>

  constructor(root: string, claude: string, variant: string) {
    this.#child = spawn(process.execPath, ['test/support/vault-writer.ts', root, claude, variant], {
      // After a power cut it fails, as it should; what it promised until then matters.
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#out += text))
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()))
  }

  async begun(): Promise<void> {
    while (!this.#out.includes('\n')) await sleep(2)
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }

  /** The size that was kept of each session, before a moment. */
  kept(before?: bigint): Map<string, number> {
    const lines = this.#out
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split(' ') as [string, string, string])
    const told = lines.filter(([, , at]) => before === undefined || BigInt(at) < before)
    return new Map(told.map(([sessionId, size]) => [sessionId, Number(size)]))
  }
}

/** What is missing or wrong of the sizes that were promised. */
async function lostOf(root: string, claude: string, promised: Map<string, number>): Promise<string[]> {
  const vault = await openTestVault(root)
  const lost: string[] = []
  const to = mkdtempSync(join(folder, 'restored-'))
  for (const [sessionId, size] of promised) {
    await vault.restore(sessionId, to)
    const path = transcriptOf(to, sessionId)
    const restored = existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
    const original = readFileSync(transcriptOf(claude, sessionId)).subarray(0, restored.length)
    if (restored.length < size) lost.push(`${sessionId}: ${restored.length} of ${size}`)
    else if (!restored.equals(original)) lost.push(`${sessionId}: other bytes`)
  }
  const { damage, files } = await vault.verify()
  lost.push(...damage.map(({ problem }) => problem), ...files.map(({ path }) => path))
  await vault.close()
  rmSync(to, { recursive: true })
  return lost
}

test('40 rounds of kill -9 lose nothing that was kept', async () => {
  const [root, claude] = [join(folder, 'state'), join(folder, 'claude')]
  const promised = new Map<string, number>()
  for (let round = 0; round < 40; round++) {
    const writer = new Writer(root, claude, 'real')
    await writer.begun()
    await sleep(Math.random() * 200)
    await writer.kill()
    for (const [sessionId, size] of writer.kept()) promised.set(sessionId, size)
    expect(await lostOf(root, claude, promised), `round ${round}`).toEqual([])
  }
  expect(promised.size).toBe(writtenSessions.length)
})

async function lostByPowerCuts(cuts: number, variant: string): Promise<string[]> {
  const claude = join(folder, 'claude')
  const disk = new Disk()
  const lost: string[] = []
  const promised = new Map<string, number>()
  try {
    disk.mount()
    const root = join(disk.mountPoint, 'state')
    for (let cut = 0; cut < cuts; cut++) {
      const writer = new Writer(root, claude, variant)
      await writer.begun()
      await sleep(Math.random() * 200)
      const cutAt = disk.cutPower()
      await writer.kill()
      await disk.unmount()
      disk.mount()
      const lock = join(root, 'vault', 'vault.lock')
      if (existsSync(lock)) utimesSync(lock, 0, 0)
      for (const [sessionId, size] of writer.kept(cutAt)) promised.set(sessionId, size)
      lost.push(...(await lostOf(root, claude, promised)))
    }
    return lost
  } finally {
    await disk.remove()
  }
}

test('20 power cuts lose nothing that was kept', async (ctx) => {
  if (whyNot) ctx.skip(whyNot)
  expect(await lostByPowerCuts(20, 'real')).toEqual([])
})

test('power cuts catch a vault that does not sync', async (ctx) => {
  if (whyNot) ctx.skip(whyNot)
  expect((await lostByPowerCuts(5, 'without-sync')).length).toBeGreaterThan(0)
})

test('verify finds every flipped byte of a vault', async () => {
  const [root, claude] = [join(folder, 'state'), join(folder, 'claude')]
  const vault = await openTestVault(root)
  const file = transcriptOf(claude, writtenSessions[0]!)
  mkdirSync(join(claude, 'projects', 'p'), { recursive: true })
  writeFileSync(file, randomBytes(1_000).toString('hex'))
  await vault.keep([
    { sessionId: writtenSessions[0]!, agent: 'claude', root: claude, files: [file], about: {} },
  ])
  const packs = join(root, 'vault', 'packs')
  const pack = join(packs, readdirSync(packs)[0]!)
  const whole = readFileSync(pack)
  for (let at = 0; at < whole.length; at++) {
    const flipped = Buffer.from(whole)
    flipped[at]! ^= 1 << (at % 8)
    writeFileSync(pack, flipped)
    expect((await vault.verify()).damage.length, `byte ${at}`).toBe(1)
  }
  await vault.close()
})

function filesBelow(below: string): Map<string, string> {
  const entries = readdirSync(below, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return new Map(
    entries.map(({ parentPath, name }) => {
      const path = join(parentPath, name)
      return [path, hash('sha256', readFileSync(path))]
    }),
  )
}

async function keepDeleteRestore(
  configDir: string,
): Promise<{ bytes: number; originalBytes: number; sessionIds: string[] }> {
  const discovery = openDiscovery({
    configDirs: [configDir],
    indexFile: join(folder, 'index', 'discovery.sqlite'),
    registries: [],
    clock: systemClock,
    log: silentLog,
  })
  const vault = await openTestVault(folder)
  try {
    await keepAll({ vault, discovery })
    const kept = new Set(
      (await vault.sessions()).flatMap(({ sessionId }) =>
        vault.files(sessionId).map(({ root, path }) => join(root, path)),
      ),
    )
    const before = filesBelow(configDir)
    rmSync(configDir, { recursive: true })
    const sessionIds = (await vault.gone()).map(({ sessionId }) => sessionId)
    for (const sessionId of sessionIds) await vault.restore(sessionId)
    const after = filesBelow(configDir)
    // Every transcript of a listed session and every file of its folder was kept.
    for (const [path, digest] of before) if (kept.has(path)) expect(after.get(path), path).toBe(digest)
    expect(after.size).toBe(kept.size)
    const { bytes, originalBytes } = await vault.size()
    return { bytes, originalBytes, sessionIds }
  } finally {
    await vault.close()
    await discovery.close()
  }
}

test('2,000 deleted sessions of 200 kB are restored byte for byte, from less than a sixth of their size', async () => {
  const configDir = join(folder, 'claude')
  makeCorpus({ configDir, files: 2_000, bytes: 400_000_000 })
  const { bytes, originalBytes, sessionIds } = await keepDeleteRestore(configDir)
  expect(sessionIds.length).toBe(2_000)
  expect(bytes / originalBytes).toBeLessThan(1 / 6)
})

test('every fixture is restored byte for byte, and the real Claude resumes those that it resumed before', async (ctx) => {
  if (!existsSync(claudeBinary)) ctx.skip('the Claude binary is not installed')
  const api = await startMessagesApi()
  const home = makeClaudeHome({ apiUrl: api.url, name: 'vault' })
  const fixtures = join(import.meta.dirname, '../fixtures/claude-code')
  for (const source of [
    fixtures,
    ...readdirSync(join(fixtures, 'old-versions')).map((v) => join(fixtures, 'old-versions', v)),
  ])
    if (existsSync(join(source, 'projects')))
      cpSync(join(source, 'projects'), join(home.configDir, 'projects'), { recursive: true })
  // Claude finds a session by the slug of the directory that it is resumed in.
  const project = join(home.configDir, 'projects', home.project.replaceAll(/[^a-zA-Z0-9]/g, '-'))
  mkdirSync(project, { recursive: true })
  for (const path of filesBelow(join(home.configDir, 'projects')).keys()) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    if (/^[0-9a-f-]{36}\.jsonl$/.test(name) && !existsSync(join(project, name)))
      cpSync(path, join(project, name))
  }
  const resume = async (sessionId: string): Promise<boolean> => {
    const options = { cwd: home.project, env: home.variables, timeout: 60_000 }
    const asked = run(
      claudeBinary,
      ['-p', '--model', testModel, '--resume', sessionId, '--fork-session', 'Continue.'],
      options,
    )
    return asked.then(
      () => true,
      () => false,
    )
  }
  const ids = readdirSync(project)
    .filter((name) => statSync(join(project, name)).isFile())
    .map((name) => name.slice(0, 36))
  const before = new Map<string, boolean>()
  for (const id of ids) before.set(id, await resume(id))
  const { sessionIds } = await keepDeleteRestore(home.configDir)
  const resumable = ids.filter((id) => before.get(id) && sessionIds.includes(id))
  expect(resumable.length).toBeGreaterThanOrEqual(30)
  for (const id of resumable) expect(await resume(id), id).toBe(true)
  await api.close()
  home.remove()
})
