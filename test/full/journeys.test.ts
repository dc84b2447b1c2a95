// The ten journeys of a person who lets Claude work: each on a wide screen and on a phone, with the real Claude binary.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { testModel } from '../support/claude-home.ts'
import type { ClaudeHome } from '../support/claude-home.ts'
import { hasChromium, NativeTranscript, openDashboard } from '../support/dashboard-house.ts'
import type { DashboardHouse } from '../support/dashboard-house.ts'
import { inline } from '../support/messages-api.ts'
import type { Step } from '../support/messages-api.ts'

const maxSessions = 5
let house: DashboardHouse

beforeAll(async () => {
  if (!hasChromium) return
  const coding = { defaultModel: testModel, maxSessions }
  house = await openDashboard({ config: { coding }, before: makeGithub })
})

/** GitHub's own program, as far as it opens a pull request. */
function makeGithub({ home, variables }: ClaudeHome): void {
  const folder = join(home, 'bin')
  mkdirSync(folder)
  const answer = 'case "$1 $2" in "pr create") echo https://github.example/ada/pools/pull/7;; esac'
  writeFileSync(join(folder, 'gh'), `#!/bin/sh\n${answer}\n`, { mode: 0o755 })
  variables['PATH'] = `${folder}:${variables['PATH']}`
}
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(() => house?.close())

interface CodingRow {
  id: string
  name: string
  state: string
  lifecycle: string
}

const screens: Array<{ screen: string; options: BrowserContextOptions }> = [
  { screen: 'wide', options: { viewport: { width: 1440, height: 900 } } },
  { screen: 'phone', options: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } },
]

describe.each(screens)('$screen', ({ screen, options }) => {
  const isPhone = screen === 'phone'
  const named = (name: string): string => `${name}-${screen}`
  const folderOf = (name: string): string => join(house.home.root, named(name))
  const row = (page: Page, name: string): Locator =>
    page.locator('.row', { has: page.locator('.name', { hasText: named(name) }) })
  const state = (page: Page, word: string): Locator => page.locator('.session-head .chip', { hasText: word })

  const open = async (path = '/'): Promise<Page> => {
    const page = await house.open(path, options)
    pages.push(page)
    return page
  }
  const pages: Page[] = []
  // A session that still asks or works would keep its place from the next journey.
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.context().close()
    const { sessions } = await house.call<{ sessions: CodingRow[] }>('coding.sessions')
    for (const { id } of sessions.filter(({ state: word }) => word === 'working' || word === 'needs you'))
      await house.call('coding.kill', { session: id })
  })

  const launch = (name: string, steps: Step[], more: object = {}): Promise<CodingRow> => {
    mkdirSync(folderOf(name), { recursive: true })
    return house.call('coding.launch', {
      prompt: inline(...steps),
      name: named(name),
      workdir: folderOf(name),
      fresh: true,
      originChannel: 'web|dashboard',
      ...more,
    })
  }
  const command = (words: string): Step => ({ tools: [{ name: 'Bash', input: { command: words } }] })
  const stateOf = async (id: string): Promise<string> => {
    const { sessions } = await house.call<{ sessions: CodingRow[] }>('coding.sessions')
    return sessions.find((one) => one.id === id)?.state ?? 'none'
  }
  const reaches = (id: string, word: string): Promise<void> =>
    expect.poll(() => stateOf(id), { timeout: 60_000 }).toBe(word)

  /** Where a request is answered: a card of the inbox on a phone, the dock of the session otherwise. */
  const decisionOf = async (page: Page, name: string): Promise<Locator> => {
    await row(page, name).waitFor()
    if (isPhone) return row(page, name).getByRole('region', { name: 'Decision' })
    await row(page, name).getByRole('link').click()
    return page.locator('.dock').getByRole('region', { name: 'Decision' })
  }
  const openSession = async (page: Page, name: string): Promise<void> => {
    await row(page, name).getByRole('link').first().click()
    await page.locator('.session-head h1', { hasText: named(name) }).waitFor()
  }

  test('an edit is seen as it will happen, and allowed', async () => {
    const file = join(folderOf('approve'), 'pool.txt')
    mkdirSync(folderOf('approve'))
    writeFileSync(file, 'one crab\n')
    const edit = { file_path: file, old_string: 'one crab', new_string: 'two crabs' }
    const steps = [
      { tools: [{ name: 'Read', input: { file_path: file } }] },
      { tools: [{ name: 'Edit', input: edit }] },
      { text: 'edited' },
    ]
    await launch('approve', steps)
    const page = await open()
    const decision = await decisionOf(page, 'approve')
    await decision.getByRole('heading', { name: 'Wants to edit pool.txt' }).waitFor()
    expect(await decision.locator('del').textContent()).toContain('- one crab')
    expect(await decision.locator('ins').textContent()).toContain('+ two crabs')
    const allow = decision.getByRole('button', { name: 'Allow once' })
    if (isPhone) {
      expect((await allow.boundingBox())!.height).toBeGreaterThanOrEqual(44)
      await allow.tap()
    } else await page.keyboard.press('a')
    await expect.poll(() => readFileSync(file, 'utf8'), { timeout: 30_000 }).toBe('two crabs\n')
  })

  test('a command is denied, and Claude reads the reason', async () => {
    await launch('deny', [command('git push --force'), { text: 'left it' }])
    const page = await open()
    const decision = await decisionOf(page, 'deny')
    await decision.getByText('git push --force').waitFor()
    await decision.getByLabel('Note to Claude (optional)').fill(`not on main, ${screen}`)
    await decision.getByRole('button', { name: 'Deny' }).click()
    await house.api.requested(
      ({ text }) => text.includes('A person said no') && text.includes(`not on main, ${screen}`),
      60_000,
    )
    await row(page, 'deny').getByText('left it').waitFor()
    await openSession(page, 'deny')
    await page.locator('.card.tool.denied').waitFor()
  })

  test('a question is answered with one of its options', async () => {
    const answers = [
      { label: 'Red', description: 'like a starfish' },
      { label: 'Blue', description: 'like the sea' },
    ]
    const question = { question: 'Which color?', header: 'Color', multiSelect: false, options: answers }
    await launch('answer', [
      { tools: [{ name: 'AskUserQuestion', input: { questions: [question] } }] },
      { text: 'painted' },
    ])
    const page = await open()
    const decision = await decisionOf(page, 'answer')
    await decision.getByText('Which color?').waitFor()
    await decision.getByRole('button', { name: 'Blue like the sea' }).click()
    await decision.getByRole('button', { name: 'Answer' }).click()
    await row(page, 'answer').getByText('painted').waitFor()
  })

  test('after a restart in the middle, what was asked is still asked, and what was cut off is resumed', async () => {
    const asks = await launch('asks', [command('touch allowed'), { text: 'touched' }])
    const writes = await launch('writes', [{ text: 'Slowly written', chunkSize: 4, hangAfter: 2 }])
    const page = await open()
    await (await decisionOf(page, 'asks')).getByText('touch allowed').waitFor()
    await reaches(writes.id, 'working')
    await house.api.requested(({ prompt }) => prompt.includes('Slowly written'), 60_000)
    await house.stop()
    await page.getByText('The gateway is not reachable').waitFor()
    await house.start()
    await page.goto(house.url())
    house.api.script('Continue where you left off', [{ text: 'Written to the end.' }])
    house.api.script('A person allowed: touch allowed', [command('touch allowed'), { text: 'touched' }])
    await page.getByRole('group', { name: 'Interrupted sessions' }).getByText('1 session was').waitFor()
    await page.getByRole('button', { name: 'Resume all' }).click()
    await row(page, 'writes').getByText('Written to the end.').waitFor({ timeout: 60_000 })
    const decision = await decisionOf(page, 'asks')
    await decision.getByText('touch allowed').waitFor()
    await decision.getByRole('button', { name: 'Allow once' }).click()
    await expect.poll(() => existsSync(join(folderOf('asks'), 'allowed')), { timeout: 60_000 }).toBe(true)
    await reaches(asks.id, 'ready')
  })

  test('a sixth session starts while five wait for a next message, and queues while five are blocked', async () => {
    const idle = await Promise.all(
      Array.from({ length: maxSessions }, (_, i) => launch(`idle${i}`, [{ text: `waits ${i}` }])),
    )
    for (const { id } of idle) await reaches(id, 'ready')
    const page = await open('/new')
    house.api.script(`sixth on ${screen}`, [{ text: 'The sixth is done.' }])
    await page.getByLabel('What should be done?').fill(`sixth on ${screen}`)
    mkdirSync(folderOf('sixth'))
    await page.getByLabel('Repository', { exact: true }).fill(folderOf('sixth'))
    await page.getByRole('button', { name: 'Start a new session' }).click()
    await page.getByText('The sixth is done.').first().waitFor()
    // The one that made room is as ready as before.
    for (const { id } of idle) expect(await stateOf(id)).toBe('ready')
    const blocked = await Promise.all(
      Array.from({ length: maxSessions }, (_, i) =>
        launch(`blocked${i}`, [command(`touch ${i}`), { text: 'touched' }]),
      ),
    )
    for (const { id } of blocked) await reaches(id, 'needs you')
    const last = await launch('queued', [{ text: 'At last.' }])
    await page.goto(`${house.url()}/coding/${last.id}`)
    await page.getByText('Queued: it starts when a place is free.').waitFor()
    await page.goto(house.url())
    const decision = await decisionOf(page, 'blocked0')
    await decision.getByRole('button', { name: 'Allow once' }).click()
    await reaches(last.id, 'ready')
  })

  test('the first turn is seen while it is written, and stopped', async () => {
    const { id } = await launch('stop', [{ text: 'On and on and on', chunkSize: 4, hangAfter: 2 }])
    const page = await open(`/coding/${id}`)
    await page.locator('.card.answer', { hasText: 'On and' }).waitFor()
    await page
      .locator('.at-work')
      .getByText(/^\d+:\d\d$/)
      .waitFor()
    await page.getByRole('button', { name: 'Interrupt' }).click()
    await state(page, 'idle').waitFor()
    expect(await page.locator('.at-work').count()).toBe(0)
  })

  test('a fork begins with a composer; one click spends nothing', async () => {
    house.api.script(`heron on ${screen}`, [{ text: 'The heron is grey.' }])
    house.api.script(`gull on ${screen}`, [{ text: 'The gull is white.' }])
    house.api.script(`fork on ${screen}`, [{ text: 'Forked.' }])
    const { id } = await launch('fork', [], { prompt: `heron on ${screen}` })
    await reaches(id, 'ready')
    await house.call('coding.respond', { session: id, message: `gull on ${screen}` })
    await house.api.requested(({ prompt }) => prompt.includes(`gull on ${screen}`), 60_000)
    await reaches(id, 'ready')
    const page = await open(`/coding/${id}`)
    const heron = page.locator('.card.answer', { hasText: 'The heron is grey.' })
    await heron.hover()
    const calls = house.api.calls().length
    await heron.getByRole('button', { name: 'Fork from here' }).click()
    await page.getByLabel('First message of the fork').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel(/^Message to/).waitFor()
    expect(house.api.calls().length).toBe(calls)
    await heron.getByRole('button', { name: 'Fork from here' }).click()
    await page.getByLabel('First message of the fork').fill(`fork on ${screen}`)
    await page.getByRole('button', { name: 'Fork', exact: true }).click()
    await page.waitForURL((url) => !url.pathname.endsWith(id))
    const forked = await house.api.requested(({ prompt }) => prompt.includes(`fork on ${screen}`), 60_000)
    expect(forked.text).toContain('The heron is grey.')
    expect(forked.text).not.toContain('The gull is white.')
    await page.locator('.session-head').getByText('fork of').waitFor()
  })

  test('what a finished session did is reviewed: last words, commit, difference; then it is seen', async () => {
    const workdir = folderOf('review')
    mkdirSync(workdir)
    writeFileSync(join(workdir, 'pool.txt'), 'one\ntwo\n')
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
    const git = (...words: string[]): unknown => execFileSync('git', [...who, ...words], { cwd: workdir })
    git('init', '-q', '-b', 'main')
    git('add', '.')
    git('commit', '-qm', 'Begin')
    const work = `echo three >> pool.txt && git ${who.join(' ')} commit -qam "Count three"`
    const { id } = await launch('review', [command(work), { text: 'Three are **counted**.' }], {
      allowedTools: ['Bash'],
    })
    await reaches(id, 'ready')
    const page = await open(isPhone ? '/' : '/review')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await openSession(page, 'review')
    await page.getByRole('link', { name: 'Diff', exact: true }).click()
    const changes = page.getByRole('region', { name: 'Changes' })
    await changes.locator('strong', { hasText: 'counted' }).waitFor()
    await changes.getByText('Count three').waitFor()
    expect(await changes.locator('.diff ins').allTextContents()).toEqual(['+three\n'])
    await changes.getByRole('button', { name: 'Copy the diff' }).click()
    await changes.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^\+three$/m)
    // Two clicks, because it leaves this machine.
    await changes.getByText('Open a pull request…').click()
    await changes.getByRole('button', { name: 'Open the pull request' }).click()
    await changes.getByRole('link', { name: 'https://github.example/ada/pools/pull/7' }).waitFor()
    await page.getByRole('button', { name: 'Mark as seen' }).click()
    await state(page, 'idle').waitFor()
  })

  test('ending asks first and is undone, and so is archiving', async () => {
    const { id } = await launch('undo', [{ text: 'It waits.' }])
    await reaches(id, 'ready')
    const page = await open(`/coding/${id}`)
    const notices = page.getByRole('status', { name: 'Notices' })
    const calls = house.api.calls().length
    await page.getByRole('button', { name: 'End…' }).click()
    await page.getByRole('button', { name: 'Keep it running' }).click()
    expect(await stateOf(id)).toBe('ready')
    await page.getByRole('button', { name: 'End…' }).click()
    await page.getByRole('button', { name: 'End it' }).click()
    await state(page, 'stopped').waitFor()
    await notices.getByRole('button', { name: 'Undo' }).click()
    await state(page, 'ready').waitFor()
    // The palette does it too, with the same way back.
    await page.getByRole('button', { name: /^Find/ }).click()
    await page.getByRole('combobox', { name: 'Find' }).fill('End')
    await page.getByRole('option', { name: /^Do with this End/ }).click()
    await state(page, 'stopped').waitFor()
    await notices.getByRole('button', { name: 'Undo' }).click()
    await state(page, 'ready').waitFor()
    // It was not working, so nothing was asked of Claude.
    expect(house.api.calls().length).toBe(calls)
    const asks = await launch('undo-asks', [command('git push'), { text: 'left it' }])
    await reaches(asks.id, 'needs you')
    const before = house.api.calls().length
    const other = await open(`/coding/${asks.id}`)
    await other.getByRole('button', { name: 'End…' }).click()
    await other.getByText('Its open request is withdrawn for good.').waitFor()
    await other.getByRole('button', { name: 'End it' }).click()
    await state(other, 'stopped').waitFor()
    await other.getByRole('status', { name: 'Notices' }).getByRole('button', { name: 'Undo' }).click()
    const lifecycleOf = async (): Promise<string | undefined> => {
      const { sessions } = await house.call<{ sessions: CodingRow[] }>('coding.sessions')
      return sessions.find((one) => one.id === asks.id)?.lifecycle
    }
    await expect.poll(lifecycleOf).toBe('suspended')
    expect(await stateOf(asks.id)).toBe('stopped')
    expect(house.api.calls().length).toBe(before)
    await page.getByRole('button', { name: 'Archive' }).click()
    await page.getByRole('button', { name: 'Restore' }).waitFor()
    await notices.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('button', { name: 'Archive' }).waitFor()
    house.api.script(`again on ${screen}`, [{ text: 'Here I am again.' }])
    await page.getByLabel(/^Message to/).fill(`again on ${screen}`)
    await page.getByRole('button', { name: /^(Send|Resume)$/ }).click()
    await page.locator('.card.answer', { hasText: 'Here I am again.' }).waitFor()
  })

  test('a phrase is found far up in a session, shown and marked; the next one is found in the session itself', async () => {
    const id = `${isPhone ? '2' : '1'}2121212-2222-4333-8444-555555555555`
    const native = new NativeTranscript(house.home, house.home.project, id)
    native.prompt('Look at every pool')
    native.answer(`The zephyrquartz of ${screen} lies under the third stone.`)
    for (let i = 0; i < 300; i++) native.answer(`Pool ${i} is empty.`)
    native.answer('A second zephyrquartz was here.')
    const page = await open()
    await page.getByRole('button', { name: /^Find/ }).click()
    await page.getByRole('combobox', { name: 'Find' }).fill(`zephyrquartz of ${screen}`)
    const hit = page.getByRole('option', { name: /lies under the third stone/ }).first()
    expect(await hit.locator('mark').first().textContent()).toMatch(/zephyrquartz/i)
    await hit.click()
    const target = page.locator('.card.target', { hasText: 'under the third stone' })
    await target.locator('mark').first().waitFor()
    await expect
      .poll(() => target.evaluate((card) => card.getBoundingClientRect().top), { timeout: 20_000 })
      .toBeGreaterThan(0)
    await page.getByLabel('Find in session').fill('zephyrquartz')
    await page.keyboard.press('Enter')
    await page.locator('.card.target mark', { hasText: 'zephyrquartz' }).waitFor()
    await page.getByRole('status').getByText('1 of 2').waitFor()
  })
})
