// The first minutes of a newcomer: an empty home, no log-in, and the commands of docs/quick-starts.md as they stand there.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { programFile, startProgram } from '../support/program.ts'
import { noTerminal, openTerminal } from '../support/terminal.ts'
import type { PseudoTerminal } from '../support/terminal.ts'

const patience = { timeout: 60_000, interval: 100 }
let home: string
let env: Record<string, string>
let terminal: PseudoTerminal | undefined

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-newcomer-'))
  const bin = join(home, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'rockpool'), `#!/bin/sh\nexec ${process.execPath} ${programFile} "$@"\n`, {
    mode: 0o755,
  })
  // Opens nothing.
  writeFileSync(join(bin, 'xdg-open'), '#!/bin/sh\n', { mode: 0o755 })
  env = { HOME: home, PATH: `${bin}:${process.env['PATH']}`, LANG: 'C.UTF-8', TERM: 'xterm' }
})
afterEach(async () => {
  terminal?.close()
  terminal = undefined
  await startProgram(['down'], env).ended
  rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
})

async function shows(wanted: RegExp): Promise<void> {
  await vi.waitFor(() => expect(terminal!.screen()).toMatch(wanted), patience)
}

test('`login` runs the log-in of the bundled Claude; Ctrl-C leaves it, and Claude is still not connected', async (ctx) => {
  ctx.skip(noTerminal !== undefined, noTerminal)
  terminal = openTerminal(`rockpool login`, { env, columns: 100, rows: 30 })
  await shows(/sign in[\s\S]*https:\/\/claude\.(com|ai)\/[\s\S]*Paste code here/)
  terminal.press('C-c')
  await shows(/left [1-9]/)
  expect(terminal.screen()).not.toMatch(/^ +at /m)
})

test('`login` says that Claude is connected once a log-in was written', async (ctx) => {
  ctx.skip(noTerminal !== undefined, noTerminal)
  // The last step of a real log-in needs the internet: this program writes what it would write.
  const oauth = { accessToken: 'a', refreshToken: 'r', expiresAt: Date.now() + 3_600_000, scopes: [] }
  const credentials = JSON.stringify({ claudeAiOauth: { ...oauth, scopes: ['user:inference'] } })
  const claude = join(home, 'bin/claude')
  const folder = join(home, '.claude')
  writeFileSync(
    claude,
    `#!/bin/sh\nmkdir -p ${folder}\ncat > ${folder}/.credentials.json <<'E'\n${credentials}\nE\n`,
    { mode: 0o755 },
  )
  mkdirSync(join(home, '.rockpool'))
  writeFileSync(join(home, '.rockpool/rockpool.json'), JSON.stringify({ claude: { binary: claude } }))
  terminal = openTerminal(`rockpool login`, { env, columns: 100, rows: 10 })
  await shows(/Claude is connected \(.+\)\.[\s\S]*left 0/)
})

test('without a log-in every view that needs Claude says so', async () => {
  const says = /Claude is not connected|not connected\./
  expect((await startProgram(['status'], env).ended).stdout).toMatch(says)
  expect((await startProgram(['doctor'], env).ended).stdout).toMatch(says)
  expect((await startProgram(['agent', '-m', 'hello'], env).ended).stdout).toMatch(/not Claude/)
  const launched = await startProgram(['cc', 'launch', 'hello', '--repo', home], env).ended
  expect(`${launched.stdout}${launched.stderr}`).toMatch(says)
})

/** The commands below a heading of the quick starts, without their comments. */
function commandsOf(heading: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/quick-starts.md'), 'utf8')
  const part = text.split(/^## /m).find((one) => one.startsWith(`${heading}\n`))
  const block = /```sh\n([\s\S]*?)```/.exec(part ?? '')?.[1] ?? ''
  return block
    .split('\n')
    .map((line) => line.replace(/ +#.*$/, ''))
    .filter((line) => line !== '')
}

test.each([['See my Claude Code sessions'], ['Run ten in the background'], ['Leave OpenClaw']])(
  'every command of "%s" works on an empty machine',
  async (heading) => {
    const sessions = join(home, '.openclaw/agents/main/sessions')
    mkdirSync(sessions, { recursive: true })
    writeFileSync(join(sessions, 'sessions.json'), '{}')
    for (const repo of ['shop', 'blog']) mkdirSync(join(home, 'code', repo), { recursive: true })
    const commands = commandsOf(heading).filter((line) => !/ (watch|channels add) ?/.test(`${line} `))
    expect(commands.length).toBeGreaterThan(1)
    for (const line of commands) {
      if (line === 'rockpool up') {
        await startProgram(['up', '--port', '0', '--json'], env).line
        continue
      }
      const ran = await runLine(line)
      // The id of the example is no id here.
      const isUnknownId = line.includes('3f2a') && ran.code === 3
      expect([line, isUnknownId ? 0 : ran.code, ran.output]).toEqual([line, 0, expect.any(String)])
      expect(ran.output).not.toMatch(/^ +at /m)
    }
  },
)

function runLine(line: string): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile('sh', ['-c', line], { env, cwd: home }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    )
  })
}
