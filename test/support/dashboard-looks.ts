// The dashboard of a machine on which a person works, and how a test shows and examines each view.
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { exploreId, furnish, paymentsId } from './dashboard-demo.ts'
import type { Demo } from './dashboard-demo.ts'
import { openDashboard } from './dashboard-house.ts'
import type { DashboardHouse } from './dashboard-house.ts'

export interface FurnishedHouse extends DashboardHouse {
  demo: Demo
  /** Name to address. */
  views: Record<string, string>
}

export async function openFurnished(
  options: { homeFor?: (apiUrl: string) => ClaudeHome } = {},
): Promise<FurnishedHouse> {
  let demo: Demo | undefined
  const house = await openDashboard({
    ...options,
    config: {
      coding: { defaultModel: testModel, budgets: { usdPerDay: 5, agentUsdPerDay: 4, repoUsdPerDay: 3 } },
    },
    before: (home) => (demo = furnish(home)),
  })
  house.api.script('repair the login form', [
    {
      text: 'First I run the tests.',
      tools: [{ name: 'Bash', input: { command: 'npm test && git push' } }],
      usage: { output_tokens: 30_000, cache_read_input_tokens: 64_000 },
    },
    { text: 'Done.' },
  ])
  const coding = await house.call<{ id: string }>('coding.launch', {
    prompt: 'Please repair the login form and push it.',
    name: 'repair-login',
    workdir: demo!.accounts,
    fresh: true,
    originChannel: 'web|dashboard',
  })
  await judgeRelevance(house, demo!)
  const views = {
    inbox: '/',
    review: '/review',
    working: '/working',
    failed: '/failed',
    all: '/all',
    session: `/session/${paymentsId}`,
    diff: `/session/${paymentsId}#tab=diff`,
    files: `/session/${paymentsId}#tab=files`,
    'cost of a session': `/session/${paymentsId}#tab=cost`,
    raw: `/session/${paymentsId}#tab=raw`,
    about: `/session/${paymentsId}#tab=about`,
    subagent: `/session/${paymentsId}/agent-${exploreId}`,
    coding: `/coding/${coding.id}`,
    'diff of a coding session': `/coding/${coding.id}#tab=diff`,
    chat: '/chat',
    new: '/new',
    project: `/project/${encodeURIComponent(demo!.storefront)}`,
    document: `/project/${encodeURIComponent(demo!.storefront)}/${encodeURIComponent('.specs/checkout.md')}`,
    cost: '/cost',
    settings: '/settings',
    unknown: '/nonsense/xyz',
  }
  return { ...house, demo: demo!, views }
}

const task = 'Retry failed card payments for subscriptions too'

/** The model that is asked which sessions fit the task answers for each that it is asked about. */
async function judgeRelevance(house: DashboardHouse, demo: Demo): Promise<void> {
  await house.call('cc.select', { task, repo: demo.storefront })
  const asked = house.api.requests.find(({ prompt }) => prompt.includes('NEW TASK'))?.prompt ?? ''
  const scores = [...asked.matchAll(/^(\d+)\. (.*)$/gm)].map(([, index, about]) =>
    about!.includes('card payments')
      ? { index: Number(index), relevance: 0.9, reasoning: 'retries card payments already' }
      : { index: Number(index), relevance: 0.1, reasoning: 'another part of the shop' },
  )
  house.api.script('NEW TASK', [{ tools: [{ name: 'answer', input: { scores } }] }])
}

/** Something was said in the chat of the page. */
export async function haveTalked(house: FurnishedHouse): Promise<void> {
  house.api.script('What is open in the shop', [
    {
      text: [
        'Two things wait for you:',
        '',
        '- **repair-login** wants to run `npm test && git push`',
        '- **billing-api**: the patch release needs your permission',
        '',
        'The payments are done: all 31 tests pass, and pull request 214 has one failing check, *end to end*.',
      ].join('\n'),
    },
  ])
  const page = await house.open('/chat')
  await page.getByLabel('Message', { exact: true }).fill('What is open in the shop?')
  await page.keyboard.press('Enter')
  await page.locator('.answer', { hasText: 'Two things wait for you' }).waitFor()
  await page.context().close()
}

/** Goes there without loading the page again, as a person does, and waits until the view has its data. */
export async function show(house: FurnishedHouse, page: Page, name: string): Promise<void> {
  const path = JSON.stringify(house.views[name])
  await page.evaluate(`history.pushState(null, '', ${path}), dispatchEvent(new PopStateEvent('popstate')), 0`)
  await page.locator('main h1, main h2, main .empty').first().waitFor({ state: 'attached' })
  if (name === 'inbox' || name === 'all') await page.locator('.row').first().waitFor()
  if (name === 'subagent') await page.getByText('nobody else imports').waitFor()
  if (name === 'cost of a session') await page.locator('.context-bar').waitFor()
  if (name === 'session') await page.locator('.fold', { hasText: 'Edit' }).click()
  if (name === 'coding') await page.locator('.asked').waitFor()
  if (name === 'chat') await page.getByText('wants to run a command').first().waitFor()
  if (name === 'new') await chooseSomething(house, page)
  if (name === 'document') await page.getByRole('log').getByText('A cart is kept').waitFor()
  await expect.poll(() => page.locator('.loading').count(), { timeout: 20_000 }).toBe(0)
}

async function chooseSomething(house: FurnishedHouse, page: Page): Promise<void> {
  await page.getByLabel('What should be done?').fill(task)
  await page.getByLabel('Repository', { exact: true }).fill(house.demo.storefront)
  await page.getByRole('region', { name: 'Selection' }).waitFor()
}

/** The palette, with something found. */
export async function find(page: Page, words: string): Promise<void> {
  const field = page.getByRole('combobox', { name: 'Find' })
  // While it still closes, the same keys would close it.
  await field.waitFor({ state: 'detached' })
  await page.keyboard.press('Control+k')
  await field.fill(words)
}

interface AxeWindow {
  axe?: {
    run(
      options: object,
    ): Promise<{ violations: Array<{ id: string; impact: string; nodes: Array<{ html: string }> }> }>
  }
}

/** What shuts people out of what is shown now: problems of accessibility, and what is wider than the screen. */
export async function problemsOf(page: Page): Promise<string[]> {
  // Evaluated by the debugger, which the page's policy does not hold back.
  const isThere = await page.evaluate(() => (globalThis as unknown as AxeWindow).axe !== undefined)
  if (!isThere) await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as Required<AxeWindow>).axe.run({ resultTypes: ['violations'] }),
  )
  const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  return [
    ...violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`),
    ...(wider > 0 ? [`${wider} px too wide`] : []),
  ]
}

/** How much of what was seen has moved since the page was loaded, as the browser reckons it (CLS). */
export function movedSinceLoad(page: Page): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    let sum = 0
    const watch = new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value })
    watch.observe({ type: 'layout-shift', buffered: true })
    setTimeout(() => resolve(sum), 300)
  })`)
}
