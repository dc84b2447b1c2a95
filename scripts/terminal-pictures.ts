// Makes docs/pictures/: the recording of the README and the pictures of the terminal. The real program and the real Claude binary work
// against the scripted API of the tests, in tmux. Needs the build, tmux, Chromium, and a machine without a folder /home/ada.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { makeClaudeHome, testModel } from '../test/support/claude-home.ts'
import type { ClaudeHome } from '../test/support/claude-home.ts'
import { furnish } from '../test/support/dashboard-demo.ts'
import { openBrowser } from '../test/support/dashboard-house.ts'
import { startMessagesApi } from '../test/support/messages-api.ts'
import type { MessagesApi } from '../test/support/messages-api.ts'
import { programFile, startProgram } from '../test/support/program.ts'
import { openTerminal } from '../test/support/terminal.ts'
import type { PseudoTerminal } from '../test/support/terminal.ts'
import { takePicture } from '../test/support/terminal-picture.ts'
import { Recording } from '../test/support/terminal-recording.ts'

const folder = join(import.meta.dirname, '../docs/pictures')
const columns = 104
const rows = 27

const before = 'export function Login() {\n  return <button type="submit">Log in</button>\n}\n'
const task = 'The log-in button can be pressed twice'

async function makePictures(): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const api = await startMessagesApi()
  const home = makeClaudeHome({ apiUrl: api.url, home: '/home/ada' })
  const browser = await openBrowser()
  try {
    furnishHome(home, api)
    await withGateway(home, async () => {
      await inTerminal(home, record)
      for (const [name, line] of Object.entries(stills))
        await inTerminal(home, (terminal) => takeStill(terminal, browser, name, line), 45)
    })
  } finally {
    await browser.close()
    await api.close()
    home.remove()
  }
}

async function withGateway({ variables }: ClaudeHome, work: () => Promise<void>): Promise<void> {
  const gateway = startProgram(['up', '--port', '0', '--json'], variables)
  try {
    await gateway.line
    await work()
  } finally {
    gateway.child.kill('SIGTERM')
    await gateway.ended
  }
}

function furnishHome(home: ClaudeHome, api: MessagesApi): void {
  const { storefront } = furnish(home)
  const file = join(storefront, 'src/login.tsx')
  mkdirSync(join(storefront, 'src'), { recursive: true })
  writeFileSync(file, before)
  writeFileSync(
    join(home.stateDir, 'rockpool.json'),
    JSON.stringify({ claude: { spare: false }, coding: { defaultModel: testModel } }),
  )
  mkdirSync(join(home.root, 'bin'), { recursive: true })
  const start = `#!/bin/sh\nexec ${process.execPath} ${programFile} "$@"\n`
  writeFileSync(join(home.root, 'bin/rockpool'), start, { mode: 0o755 })
  const edit = {
    file_path: file,
    old_string: 'export function Login() {\n  return <button type="submit">Log in</button>',
    new_string:
      'export function Login({ busy }: { busy: boolean }) {\n  return <button type="submit" disabled={busy}>Log in</button>',
  }
  const slowly = { chunkSize: 6, chunkDelayMs: 60 }
  api.script(task, [
    { text: 'I look at the form first.', tools: [{ name: 'Read', input: { file_path: file } }], ...slowly },
    {
      text: 'Nothing disables the button while the request runs. I add that.',
      tools: [{ name: 'Edit', input: edit }],
      ...slowly,
    },
    { text: 'Done: the button is disabled while a log-in runs, so a second click does nothing.', ...slowly },
  ])
}

async function inTerminal(
  home: ClaudeHome,
  work: (terminal: PseudoTerminal) => Promise<void>,
  height = rows,
): Promise<void> {
  const env = {
    ...home.variables,
    PATH: `${join(home.root, 'bin')}:${home.variables['PATH']}`,
    TERM: 'xterm',
  }
  const shell = `cd ~/code/storefront && env PS1='$ ' bash --norc --noprofile`
  const terminal = openTerminal(shell, { env, columns, rows: height })
  try {
    await work(terminal)
  } finally {
    terminal.close()
  }
}

/** Launch a task, watch it, see what it wants to change, allow it, read the result. */
async function record(terminal: PseudoTerminal): Promise<void> {
  const recording = new Recording(terminal)
  const enter = async (line: string): Promise<void> => {
    await recording.type(line)
    recording.pause(500)
    terminal.press('Enter')
  }
  await recording.until(/^\$/)
  recording.pause(600)
  await enter(`rockpool cc launch "${task}" --name fix-login --fresh`)
  await recording.until(/Answer: [\s\S]*\n\$ *\n/)
  recording.pause(1500)
  await enter('rockpool cc watch')
  await recording.until(/fix-login +needs you/)
  recording.pause(2500)
  terminal.press('k', 'k')
  await recording.until(/Login\(\{ busy/)
  recording.pause(1200)
  terminal.press('Enter')
  await recording.until(/disabled=\{busy\}/)
  recording.pause(3500)
  terminal.press('a')
  await recording.until(/fix-login +ready/)
  recording.pause(3000)
  terminal.press('q')
  await recording.until(/\$ *\n*$/)
  await enter('rockpool cc review fix-login')
  await recording.until(/a second click does nothing[\s\S]*\n\$ *\n/)
  recording.pause(5000)
  writeFileSync(join(folder, 'recording.svg'), recording.svg(columns, rows))
  console.log(`docs/pictures/recording.svg: ${recording.seconds.toFixed(0)} s`)
}

const stills = {
  'cc-list': 'rockpool cc list --limit 12',
  'cc-costs': 'rockpool cc costs --by day --since 14d',
}

async function takeStill(
  terminal: PseudoTerminal,
  browser: Browser,
  name: string,
  line: string,
): Promise<void> {
  const shown = new Recording(terminal)
  await shown.until(/^\$/)
  terminal.type(line)
  terminal.press('Enter')
  await shown.until(/\n\$\s*$/)
  const [, painted] = /^([\s\S]*)\n.*\$.*$/.exec(terminal.painted().trimEnd())!
  await takePicture(browser, painted!, join(folder, `${name}.png`))
}

await makePictures()
