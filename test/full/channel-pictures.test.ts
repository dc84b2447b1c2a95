// Setting up each platform as a person does it, in a real terminal and a real browser, against the platforms' servers on
// loopback. With ROCKPOOL_SCREENSHOTS=1 what they see becomes the pictures of docs/channels/.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { makeClaudeHome, testModel } from '../support/claude-home.ts'
import type { ClaudeHome } from '../support/claude-home.ts'
import { hasChromium, openBrowser, openDashboard } from '../support/dashboard-house.ts'
import type { DashboardHouse } from '../support/dashboard-house.ts'
import { DiscordApi } from '../support/discord-api.ts'
import { programFile } from '../support/program.ts'
import { takesPictures } from '../support/picture-fonts.ts'
import { smallPicture } from '../support/small-picture.ts'
import { personMessage, TelegramApi } from '../support/telegram-api.ts'
import { noTerminal, openTerminal } from '../support/terminal.ts'
import type { PseudoTerminal } from '../support/terminal.ts'
import { takePicture } from '../support/terminal-picture.ts'
import { WhatsappServer } from '../support/whatsapp-server.ts'

const folder = join(import.meta.dirname, '../../docs/channels')
const patience = { timeout: 20_000 }
const ada = { id: 501_234_567, name: 'Ada' }

let telegram: TelegramApi
let discord: DiscordApi
let whatsapp: WhatsappServer
let home: ClaudeHome
let house: DashboardHouse | undefined

beforeAll(async () => {
  telegram = await TelegramApi.listen()
  telegram.bot.username = 'my_rockpool_bot'
  discord = await DiscordApi.listen()
  whatsapp = await WhatsappServer.listen()
  home = makeClaudeHome({ apiUrl: 'http://127.0.0.1:9', name: 'pictures' })
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config()), { mode: 0o600 })
  installProgram()
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
  if (noTerminal) ctx.skip(noTerminal)
})
afterAll(async () => {
  await house?.close()
  await Promise.all([telegram.close(), discord.close(), whatsapp.close()])
  home.remove()
})

test('Telegram and Discord are set up in a terminal before anything runs; the token is never shown', async () => {
  for (const { name, token, bot } of [
    { name: 'telegram', token: telegram.token, bot: '@my_rockpool_bot' },
    { name: 'discord', token: discord.token, bot: 'rockpool' },
  ]) {
    await inTerminal(async (terminal) => {
      enter(terminal, `rockpool channels add ${name}`)
      await seen(terminal, /The token of your bot/)
      enter(terminal, token)
      await seen(terminal, new RegExp(`${name} is set up as ${bot}[\\s\\S]*becomes\\s+the\\s+owner`))
      expect(terminal.screen()).not.toContain(token.slice(-12))
      await picture(terminal, `${name}-add.png`)
    })
  }
})

test('a new person who writes to the bot waits for the owner, in the terminal and on the page', async () => {
  house = await openDashboard({ config: config(), homeFor: homeWithApi })
  house.api.script('What can you do', [
    {
      text: 'I answer here as I would in a terminal: questions, files, and **coding sessions** in your repositories. Try `/help`.',
    },
  ])
  await expect.poll(() => stateOf('telegram'), patience).toBe('connected')
  says('hello')
  await expect.poll(() => telegram.shown.at(-1)?.text, patience).toMatch(/pairing code is/)
  await expect.poll(() => stateOf('whatsapp'), patience).toBe('starting')
  const page = await house.open('/settings', { colorScheme: 'light', viewport: { width: 900, height: 900 } })
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await page.getByRole('img', { name: 'QR code that links WhatsApp' }).waitFor(patience)
  await pagePicture(page.getByRole('region', { name: 'Channels' }), 'settings.png')
  await pagePicture(page.getByRole('region', { name: 'People' }), 'who-may-talk.png')
  await inTerminal(async (terminal) => {
    enter(terminal, 'rockpool pairing list')
    await seen(terminal, /No person is paired yet/)
    const code = /pairing code is (\w{8})/.exec(telegram.shown.at(-1)!.text)![1]!
    enter(terminal, `rockpool pairing approve ${code}`)
    await seen(terminal, /may talk now and owns this Rockpool/)
    enter(terminal, 'rockpool channels status')
    await seen(terminal, /telegram +default +connected/)
    await picture(terminal, 'pairing.png')
  })
  await page.context().close()
})

test('the first conversation is answered, and can be read on the page', async () => {
  says('What can you do for me?')
  await expect.poll(() => telegram.shown.at(-1)?.text, patience).toMatch(/I answer here as I would/)
  const { sessions } = await house!.call<{ sessions: Array<{ key: string }> }>('sessions.list')
  const { key } = sessions.find((one) => one.key.includes('telegram'))!
  const page = await house!.open(`/chat/${encodeURIComponent(key)}`, {
    colorScheme: 'light',
    viewport: { width: 900, height: 420 },
  })
  await page.locator('.answer', { hasText: 'coding sessions' }).waitFor()
  await pagePicture(page, 'first-conversation.png')
  await page.context().close()
})

test('before something is taken away one is asked, but not about what is not there', async () => {
  await inTerminal(async (terminal) => {
    enter(terminal, 'rockpool channels remove telegram --account other')
    await seen(terminal, /telegram \(other\) is not set up/)
    enter(terminal, 'rockpool channels remove telegram')
    await seen(terminal, /Are you sure\?/)
    terminal.press('n')
    await seen(terminal, /was not confirmed; nothing changed/)
    expect(await stateOf('telegram')).toBe('connected')
  })
})

test('WhatsApp is linked by the code that the terminal shows', async () => {
  await inTerminal(
    async (terminal) => {
      enter(terminal, 'rockpool channels add whatsapp')
      await seen(terminal, /Scan this code with the phone/)
      const painted = terminal.painted()
      const { channels } = await house!.call<{
        channels: Array<{ channel: string; needs?: { detail: string } }>
      }>('channels.status')
      whatsapp.scan(channels.find(({ channel }) => channel === 'whatsapp')!.needs!.detail)
      await seen(terminal, /whatsapp is set up/)
      if (takesPictures) await takePicture(house!.browser, painted, join(folder, 'whatsapp-add.png'))
    },
    { rows: 60 },
  )
})

function config(): Record<string, unknown> {
  return {
    agents: { defaults: { model: testModel, workspace: home.project } },
    channels: {
      telegram: { apiRoot: telegram.root, pollSeconds: 2 },
      discord: { apiRoot: discord.root },
      whatsapp: { waWebSocketUrl: whatsapp.url },
    },
  }
}

function homeWithApi(apiUrl: string): ClaudeHome {
  return { ...home, variables: { ...home.variables, ANTHROPIC_BASE_URL: apiUrl }, remove: () => {} }
}

/** The program under its own name, as after an installation. */
function installProgram(): void {
  mkdirSync(join(home.root, 'bin'))
  const file = join(home.root, 'bin/rockpool')
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${programFile}' "$@"\n`)
  chmodSync(file, 0o755)
}

async function inTerminal(
  work: (terminal: PseudoTerminal) => Promise<void>,
  { rows = 34 }: { rows?: number } = {},
): Promise<void> {
  const { variables } = home
  const env = { ...variables, PATH: `${join(home.root, 'bin')}:${variables['PATH']}` }
  const terminal = openTerminal(`env PS1='$ ' bash --norc --noprofile`, { env, columns: 88, rows })
  try {
    await seen(terminal, /^\$/)
    await work(terminal)
  } finally {
    terminal.close()
  }
}

function enter(terminal: PseudoTerminal, text: string): void {
  terminal.type(text)
  terminal.press('Enter')
}

async function seen(terminal: PseudoTerminal, what: RegExp): Promise<void> {
  await expect.poll(() => terminal.screen(), patience).toMatch(what)
}

/** Without the prompt that waits for the next command. */
async function picture(terminal: PseudoTerminal, name: string): Promise<void> {
  await seen(terminal, /\n\$ *\s*$/)
  if (!takesPictures) return
  const browser = house?.browser ?? (await openBrowser())
  const painted = terminal.painted().trimEnd().replace(/\n\$$/, '')
  await takePicture(browser, painted, join(folder, name))
  if (browser !== house?.browser) await browser.close()
}

async function pagePicture(page: Page | Locator, name: string): Promise<void> {
  if (takesPictures) writeFileSync(join(folder, name), smallPicture(await page.screenshot()))
}

async function stateOf(channel: string): Promise<string | undefined> {
  const { channels } = await house!.call<{ channels: Array<{ channel: string; state: string }> }>(
    'channels.status',
  )
  return channels.find((one) => one.channel === channel)?.state
}

function says(text: string): void {
  telegram.emit({ message: personMessage(telegram, ada, { id: ada.id }, text) })
}
