// What a person does with the dashboard, from log-in to the last button, in a real browser.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { testModel } from './claude-home.ts'
import { hasChromium, NativeTranscript, openDashboard } from './dashboard-house.ts'
import type { DashboardHouse } from './dashboard-house.ts'
import { inline } from './messages-api.ts'
import type { ApiRequest } from './messages-api.ts'
import { personMessage, TelegramApi } from './telegram-api.ts'

let house: DashboardHouse
let telegram: TelegramApi

beforeAll(async () => {
  if (!hasChromium) return
  telegram = await TelegramApi.listen()
  house = await openDashboard({
    config: {
      coding: { defaultModel: testModel, maxSessions: 20, perRepo: { running: 3 } },
      channels: { telegram: { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 } },
    },
  })
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(async () => {
  await house?.close()
  await telegram?.close()
})

/** A coding session in a repository of its own. */
async function launch(prompt: string, name: string): Promise<{ id: string; workdir: string }> {
  const workdir = join(house.home.root, name)
  mkdirSync(workdir, { recursive: true })
  return house.call('coding.launch', { prompt, name, workdir, fresh: true })
}
const row = (page: Page, name: string) => page.locator('.row', { hasText: name })

describe('the way in', () => {
  test('a link from the terminal logs in once; its code is gone from the address', async () => {
    const { url } = await house.call<{ url: string }>('dashboard.code')
    const first = await (await house.browser.newContext()).newPage()
    await first.goto(url)
    await first.getByRole('navigation', { name: 'Views' }).waitFor()
    expect(first.url()).toBe(`${house.url()}/`)
    const second = await (await house.browser.newContext()).newPage()
    await second.goto(url)
    await second.getByText('used up or wrong').waitFor()
    await first.context().close()
    await second.context().close()
  })

  test('without a cookie the page asks for a code, and says where to get one', async () => {
    const page = await (await house.browser.newContext()).newPage()
    await page.goto(`${house.url()}/cost`)
    await page.getByText('rockpool dashboard').waitFor()
    await page.getByLabel('One-time code').fill('wrong-code')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('used up or wrong').waitFor()
    const { code } = await house.call<{ code: string }>('dashboard.code')
    await page.getByLabel('One-time code').fill(code)
    await page.keyboard.press('Enter')
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    await page.context().close()
  })
})

test('a native session appears while it runs, and its new lines are shown as they are written', async () => {
  const page = await house.open()
  const native = new NativeTranscript(house.home, '/srv/tidepool', '11111111-2222-4333-8444-555555555555')
  native.prompt('Count the sea stars')
  native.answer('There are **five**.')
  await row(page, 'Count the sea stars').waitFor()
  await row(page, 'Count the sea stars').getByRole('link').click()
  await page.locator('.markdown strong', { hasText: 'five' }).waitFor()
  native.prompt('And the crabs?')
  native.answer('Seven crabs.')
  await page.getByText('Seven crabs.').waitFor()
  await page.context().close()
})

test('a command of the real Claude is shown in full, approved from the list, and then runs', async () => {
  const page = await house.open()
  const command = `python3 -c "open('approved','w')"`
  const script = inline({ tools: [{ name: 'Bash', input: { command } }] }, { text: 'made it' })
  const { workdir } = await launch(script, 'approve-me')
  await row(page, 'approve-me').getByRole('button', { name: 'Answer' }).click()
  await page.locator('.asked', { hasText: command }).waitFor()
  await page.getByRole('button', { name: 'Allow once' }).click()
  await expect.poll(() => existsSync(join(workdir, 'approved')), { timeout: 20_000 }).toBe(true)
  await page.getByText('made it').first().waitFor()
  await page.context().close()
})

test('a question of Claude is answered by its number, for all sessions that ask the same', async () => {
  const page = await house.open()
  const options = [
    { label: 'Red', description: 'like a starfish' },
    { label: 'Blue', description: 'like the sea' },
  ]
  const questions = [{ question: 'Which color?', header: 'Color', multiSelect: false, options }]
  const script = inline({ tools: [{ name: 'AskUserQuestion', input: { questions } }] }, { text: 'thanks' })
  await Promise.all(['ask-one', 'ask-two'].map((name) => launch(script, name)))
  await row(page, 'ask-one').getByRole('button', { name: 'Answer' }).click()
  await page.locator('.asked', { hasText: 'Which color?' }).waitFor()
  await page.getByLabel(/Answer: a number/).fill('2')
  await page.getByRole('button', { name: 'Answer all 2 that ask the same' }).click()
  const answered = (request: ApiRequest): boolean =>
    JSON.stringify(request.body.messages?.at(-1)).includes('tool_result') &&
    JSON.stringify(request.body.messages?.at(-1)).includes('Blue')
  await house.api.requested(answered)
  await expect.poll(() => house.api.calls().filter(answered).length, { timeout: 20_000 }).toBe(2)
  await row(page, 'ask-one').getByText('thanks').first().waitFor()
  await page.context().close()
})

test('a task is written, the choice is explained with prices, and one key launches it', async () => {
  const page = await house.open('/choose')
  await page.getByLabel('What is to be done?').fill(inline({ text: 'the tide is low' }))
  await page.getByLabel('Repository', { exact: true }).fill(house.home.project)
  await page.getByRole('button', { name: 'Which session?' }).click()
  await page.getByRole('region', { name: 'Selection' }).waitFor()
  await page.getByLabel('What is to be done?').press('Control+Enter')
  await page.waitForURL(/\/coding\//)
  await page.getByText('the tide is low').first().waitFor()
  await page.context().close()
})

test('cost changes while one looks', async () => {
  const page = await house.open('/cost')
  const total = page.locator('.tiles div', { hasText: 'Total' }).locator('dd')
  await total.waitFor()
  const before = await total.textContent()
  const native = new NativeTranscript(house.home, '/srv/dear', '22222222-2222-4333-8444-555555555555')
  native.prompt('Think hard')
  native.answer('Thought.', { output_tokens: 100_000 })
  await expect.poll(() => total.textContent(), { timeout: 20_000 }).not.toBe(before)
  await page.context().close()
})

test('a stranger on Telegram asks, is let in from the page, and is answered', async () => {
  const page = await house.open('/settings')
  const ada = { id: 4711, name: 'Ada' }
  telegram.emit({ message: personMessage(telegram, ada, { id: 4711 }, 'hello?') })
  await page.getByText('Ada').waitFor()
  await page.getByRole('button', { name: 'Let in' }).click()
  await page.locator('li', { hasText: 'Ada' }).getByText('owner').waitFor()
  telegram.emit({ message: personMessage(telegram, ada, { id: 4711 }, 'and now?') })
  await expect.poll(() => telegram.shown.at(-1)?.text, { timeout: 20_000 }).toBe('OK.')
  await page.context().close()
})

test('a fork begins at the message that was chosen, and the original stays as it is', async () => {
  house.api.script('remember the heron', [{ text: 'I remember the heron.' }])
  house.api.script('remember the gull', [{ text: 'I remember the gull.' }])
  house.api.script('Continue from here.', [{ text: 'Forked.' }])
  const { id } = await launch('remember the heron', 'fork-me')
  const idle = async (): Promise<{ claudeSessionId: string; lifecycle: string }> => {
    const { sessions } = await house.call<{
      sessions: Array<{ id: string; lifecycle: string; claudeSessionId: string }>
    }>('coding.sessions')
    return sessions.find((one) => one.id === id)!
  }
  await expect.poll(async () => (await idle()).lifecycle, { timeout: 20_000 }).toBe('awaiting-input')
  await house.call('coding.respond', { session: id, message: 'remember the gull' })
  const page = await house.open(`/session/${(await idle()).claudeSessionId}`)
  await page.getByText('I remember the gull.').waitFor()
  await page
    .locator('.card.answer', { hasText: 'heron' })
    .getByRole('button', { name: 'Fork from here' })
    .click()
  await page.waitForURL(/\/coding\//)
  const forked = await house.api.requested((request) => request.prompt.includes('Continue from here.'))
  expect(forked.text).toContain('I remember the heron.')
  expect(forked.text).not.toContain('I remember the gull.')
  await page.context().close()
})

test('when the gateway restarts, the page says so, comes back by itself and has caught up', async () => {
  const page = await house.open()
  await house.stop()
  await page.getByText('The gateway is away').waitFor()
  const native = new NativeTranscript(house.home, '/srv/away', '33333333-2222-4333-8444-555555555555')
  native.prompt('Written while it was away')
  native.answer('Yes.')
  await house.start()
  await row(page, 'Written while it was away').waitFor()
  expect(await page.getByText('The gateway is away').count()).toBe(0)
  await page.context().close()
})
