// The passphrase of the vault comes from a real keyring: GNOME's, asked with secret-tool as on a desktop, and pass with GnuPG.
import { execFileSync, type ExecFileSyncOptions } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeCorpus } from '../support/corpus.ts'
import { makeHome, programFile, type Home } from '../support/program.ts'

let home: Home
let word: string

beforeEach(() => {
  home = makeHome()
  const { sessions } = makeCorpus({ configDir: home.env['CLAUDE_CONFIG_DIR']!, files: 2, bytes: 40_000 })
  word = sessions[0]!.sessionId
})
afterEach(() => home.remove())

function isMissing(...programs: string[]): string | undefined {
  const missing = programs.filter((program) => {
    try {
      execFileSync('sh', ['-c', `command -v ${program}`])
      return false
    } catch {
      return true
    }
  })
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : undefined
}

function configure(passphraseCommand: string): void {
  mkdirSync(join(home.dir, 'state'), { recursive: true, mode: 0o700 })
  writeFileSync(join(home.dir, 'state', 'rockpool.json'), JSON.stringify({ vault: { passphraseCommand } }), {
    mode: 0o600,
  })
}

const rockpool = `'${process.execPath}' '${programFile}'`

function shell(script: string, options: ExecFileSyncOptions = {}): string {
  return execFileSync('sh', ['-euc', script], {
    env: home.env,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  }).toString()
}

/** Nothing on disk tells what is kept. */
function expectEncrypted(status: string): void {
  expect(JSON.parse(status)).toMatchObject({ encrypted: true, sessions: 2 })
  const packs = join(home.dir, 'state', 'vault', 'packs')
  expect(readdirSync(packs).length).toBeGreaterThan(0)
  for (const pack of readdirSync(packs)) expect(readFileSync(join(packs, pack)).includes(word)).toBe(false)
}

test("the vault is encrypted with a passphrase of GNOME's keyring, and says what to do when it is not there", (ctx) => {
  const missing = isMissing('secret-tool', 'gnome-keyring-daemon', 'dbus-run-session')
  if (missing) ctx.skip(missing)
  configure('secret-tool lookup service rockpool-vault')
  const script = join(home.dir, 'session.sh')
  writeFileSync(
    script,
    `set -eu
echo -n login | gnome-keyring-daemon --unlock --components=secrets > /dev/null
if ${rockpool} vault keep 2> '${home.dir}/refused'; then exit 9; fi
echo -n 'open sesame' | secret-tool store --label=Rockpool service rockpool-vault
${rockpool} vault keep > /dev/null
${rockpool} vault status --json`,
  )
  expectEncrypted(shell(`dbus-run-session -- sh '${script}'`))
  expect(readFileSync(join(home.dir, 'refused'), 'utf8')).toContain('vault.passphraseCommand')
  // Another passphrase, or none, opens nothing.
  configure('echo wrong')
  expect(() => shell(`${rockpool} vault list`, { stdio: 'pipe' })).toThrow(/does not open the vault/)
})

test('the vault is encrypted with a passphrase of pass', (ctx) => {
  const missing = isMissing('pass', 'gpg')
  if (missing) ctx.skip(missing)
  configure('pass show rockpool-vault')
  const gnupg = join(home.dir, '.gnupg')
  mkdirSync(gnupg, { mode: 0o700 })
  try {
    shell(`gpg --batch --passphrase '' --quick-gen-key ada@example.org 2> /dev/null
pass init ada@example.org > /dev/null
echo 'open sesame' | pass insert -e rockpool-vault > /dev/null
${rockpool} vault keep > /dev/null`)
    expectEncrypted(shell(`${rockpool} vault status --json`))
    rmSync(join(home.dir, '.password-store'), { recursive: true })
    expect(() => shell(`${rockpool} vault list`, { stdio: 'pipe' })).toThrow(
      /vault\.passphraseCommand failed/,
    )
  } finally {
    shell('gpgconf --kill gpg-agent')
  }
})
