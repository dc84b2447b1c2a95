// A process that appends to some transcripts and keeps them in a vault as fast as it can, and says what was kept. Tests kill it.
//   node test/support/vault-writer.ts <root> <claude folder> [variant]
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, statSync, writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { openVault, type Vault } from '../../src/vault/vault.ts'

export const writtenSessions = Array.from({ length: 4 }, (_, i) => `0000000${i}-0000-4000-8000-000000000000`)

export function transcriptOf(claude: string, sessionId: string): string {
  return join(claude, 'projects', 'p', `${sessionId}.jsonl`)
}

export function openTestVault(root: string): Promise<Vault> {
  const indexFile = join(root, 'index', 'vault.sqlite')
  return openVault({
    folder: join(root, 'vault'),
    indexFile,
    secret: undefined,
    clock: systemClock,
    log: silentLog,
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await write()

async function write(): Promise<void> {
  const [root = '', claude = '', variant = 'real'] = process.argv.slice(2)
  mkdirSync(join(claude, 'projects', 'p'), { recursive: true })
  if (variant === 'without-sync') await withoutSync(join(claude, 'any'))
  const vault = await openTestVault(root)
  for (let n = 0; ; n++) {
    const sessionId = writtenSessions[n % writtenSessions.length]!
    const file = transcriptOf(claude, sessionId)
    appendFileSync(file, `${randomBytes(n % 7 === 0 ? 90_000 : 500).toString('hex')}\n`)
    const { size } = statSync(file)
    await vault.keep([{ sessionId, agent: 'claude', root: claude, files: [file], about: {} }])
    // Written before anything else happens: what stands here was promised.
    writeSync(1, `${sessionId} ${size} ${process.hrtime.bigint()}\n`)
  }
}

/** Broken on purpose, to see that the test notices. */
async function withoutSync(path: string): Promise<void> {
  const { open } = await import('node:fs/promises')
  await using file = await open(path, 'w')
  const prototype = Object.getPrototypeOf(file) as FileHandle
  prototype.datasync = prototype.sync = async () => {}
}
