// `why` as people and agents use it beside a running gateway: on the page in a browser, wide and narrow; as a tool of the MCP server and
// of the bridge; with a token that is bound to another agent; and for a session that only the vault has.
import { rmSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { LineAnswer } from '../../src/domain/why-answers.ts'
import { hashOf, newToken, writeTokenRecords } from '../../src/store/gateway-tokens.ts'
import { makeClaudeHome } from '../support/claude-home.ts'
import { hasChromium, openDashboard, type DashboardHouse } from '../support/dashboard-house.ts'
import { problemsOf } from '../support/dashboard-looks.ts'
import { EditedRepository, type EditingSession } from '../support/edited-repository.ts'
import { programFile } from '../support/program.ts'

const missing = hasChromium ? undefined : 'chromium is missing'
const bound = newToken()
/** Only in prompts and titles. */
const secret = 'herring under the stairs'
let house: DashboardHouse
let world: EditedRepository
let [first, second] = [] as unknown as [EditingSession, EditingSession]
let commit: string

beforeAll(async () => {
  if (missing) return
  const coding = { repos: {} as Record<string, string> }
  house = await openDashboard({
    config: { coding },
    homeFor: (apiUrl) => {
      const home = makeClaudeHome({ apiUrl, name: 'why-page' })
      world = new EditedRepository('shop', home.configDir)
      coding.repos['shop'] = world.root
      const hash = hashOf(bound).toString('base64url')
      writeTokenRecords(home.stateDir, [{ name: 'w', scopes: ['read'], agentId: 'work', createdAt: 0, hash }])
      return home
    },
    before: () => work(),
  })
  await house.call('agents.add', { id: 'work' })
})
beforeEach((ctx) => {
  if (missing) ctx.skip(missing)
})
afterAll(async () => {
  await house?.close()
  world?.remove()
})

/** Two sessions and a person write a file. */
function work(): void {
  world.seconds = Math.floor(Date.now() / 1_000) - 7_200
  first = world.session(`Write the basket, and mind the ${secret}`)
  first.say('I begin with an empty basket.')
  first.create(
    'src/basket.ts',
    `${Array.from({ length: 60 }, (_, i) => `export const basketPart${i} = 'a part of the basket ${i}'`).join('\n')}\n`,
  )
  commit = world.commit('Add the basket')
  second = world.session('Count the parts')
  second.edit('src/basket.ts', "'a part of the basket 7'", "'the seventh part, counted'")
  world.commit('Count the parts')
  world.write('src/basket.ts', `// By hand: a basket has parts.\n${world.read('src/basket.ts')}`)
  world.commit('Say what it is')
}

/** The page is not wider than the window. */
async function expectToFit(page: Page): Promise<void> {
  const tooWide = 'document.documentElement.scrollWidth - innerWidth'
  expect(await page.evaluate<number>(tooWide)).toBeLessThanOrEqual(0)
}

test.each([1280, 390])(
  'from a session to its commits, to a file with sessions in the margin, to a line and back, %i px wide',
  async (width) => {
    const page = await house.open(`/session/${first.sessionId}#tab=files`, {
      viewport: { width, height: 800 },
    })
    const living = page.getByRole('region', { name: 'Still in HEAD' })
    await living.getByText('59 lines').first().waitFor()
    await expectToFit(page)
    await living.getByRole('link', { name: /Add the basket/ }).click()
    await page.getByRole('heading', { name: `Commit ${commit.slice(0, 10)}` }).waitFor()
    await page.getByText('The session wrote 60 of 60 lines.').waitFor()
    await page.getByText('Write the basket').first().waitFor()
    expect(await problemsOf(page)).toEqual([])
    await expectToFit(page)

    await page.getByRole('link', { name: 'src/basket.ts' }).click()
    await page.getByText('60 of 61 lines by 2 known sessions').waitFor()
    const margins = page.locator('.why-part .margin')
    await margins.nth(0).getByText('unknown').waitFor()
    await margins
      .nth(1)
      .getByText(/Write the basket/)
      .waitFor()
    await page.getByRole('button', { name: /^Line 9:/ }).click()
    const story = page.getByRole('region', { name: 'Why src/basket.ts:9' })
    await story.getByText('exact', { exact: true }).waitFor()
    await story.getByText('Before that').click()
    await story.getByText("a part of the basket 7'").first().waitFor()
    expect(await story.isVisible()).toBe(true)
    expect(await problemsOf(page)).toEqual([])
    await expectToFit(page)
    await story.getByRole('link', { name: 'Count the parts' }).first().click()
    await page.waitForURL(new RegExp(`/session/${second.sessionId}`))
    await page.context().close()
  },
)

async function ask(
  target: string,
  token?: string,
): Promise<{ result?: LineAnswer; error?: unknown; text: string }> {
  if (token === undefined) {
    const result = await house.call<LineAnswer>('why.ask', { target, repo: world.root })
    return { result, text: JSON.stringify(result) }
  }
  const answer = await fetch(`${house.url()}/rpc`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'why.ask', params: { target, repo: world.root } }),
  })
  const text = await answer.text()
  return { ...(JSON.parse(text) as { result?: LineAnswer; error?: unknown }), text }
}

test('a token that is bound to another agent learns nothing about the session, not even that it exists', async () => {
  expect((await ask('src/basket.ts:3')).result).toMatchObject({
    confidence: 'exact',
    session: { sessionId: first.sessionId },
  })
  for (const target of ['src/basket.ts:3', 'src/basket.ts', commit]) {
    const { text, error } = await ask(target, bound)
    expect(error, target).toBeUndefined()
    for (const word of ['herring', first.sessionId, second.sessionId, 'Count the parts","branch'])
      expect(text).not.toContain(word)
  }
  expect((await ask('src/basket.ts:3', bound)).result).toMatchObject({ confidence: 'unknown' })
})

test.each([
  {
    name: 'the MCP server',
    args: ['mcp', '--scope', 'read'],
    tool: 'why',
    input: () => ({ target: 'src/basket.ts:4', repo: world.root }),
  },
  {
    name: 'the bridge',
    args: ['mcp', '--bridge'],
    tool: 'why',
    input: () => ({ target: 'src/basket.ts:4' }),
  },
])('the tool `why` of $name answers', async ({ args, tool, input }) => {
  const client = new Client({ name: 'test', version: '1' })
  const env = { ...house.home.variables }
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [programFile, ...args],
      env,
      cwd: world.root,
    }),
  )
  try {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain(tool)
    const answer = await client.callTool({ name: tool, arguments: input() })
    expect(answer.isError ?? false, JSON.stringify(answer)).toBe(false)
    expect(JSON.stringify(answer)).toContain(first.sessionId)
    expect(JSON.stringify(answer)).toContain('Write the basket')
  } finally {
    await client.close()
  }
})

test('a session that Claude Code has deleted is still named, with its prompt, from the vault', async () => {
  await house.call('vault.keep', {})
  rmSync(second.path)
  const line =
    world
      .read('src/basket.ts')
      .split('\n')
      .findIndex((text) => text.includes('seventh')) + 1
  await expect
    .poll(async () => (await ask(`src/basket.ts:${line}`)).result?.session?.sessionId, { timeout: 30_000 })
    .toBe(second.sessionId)
  expect((await ask(`src/basket.ts:${line}`)).result).toMatchObject({
    confidence: 'exact',
    prompt: 'Count the parts',
    earlier: [{ session: { sessionId: first.sessionId } }],
  })
  const lines = await house.call('why.session', { id: second.sessionId })
  expect(lines).toMatchObject({ aliveLines: 1, files: [{ file: 'src/basket.ts', lines: 1 }] })
})
