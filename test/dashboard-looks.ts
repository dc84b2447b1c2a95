// The dashboard of a machine on which somebody works, and how each of its views is shown and examined.
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { testModel } from './claude-home.ts'
import { furnish, seaStarsId } from './dashboard-demo.ts'
import type { Demo } from './dashboard-demo.ts'
import { openDashboard } from './dashboard-house.ts'
import type { DashboardHouse } from './dashboard-house.ts'

export interface FurnishedHouse extends DashboardHouse {
  demo: Demo
  /** Name to address. */
  views: Record<string, string>
}

export async function openFurnished(): Promise<FurnishedHouse> {
  let demo: Demo | undefined
  const house = await openDashboard({
    config: { coding: { defaultModel: testModel, budgets: { usdPerDay: 5 } } },
    before: (home) => (demo = furnish(home)),
  })
  house.api.script('repair the login form', [
    { text: 'First I run the tests.', tools: [{ name: 'Bash', input: { command: 'npm test && git push' } }] },
    { text: 'Done.' },
  ])
  const coding = await house.call<{ id: string }>('coding.launch', {
    prompt: 'Please repair the login form and push it.',
    name: 'repair-login',
    workdir: demo!.login,
    fresh: true,
    originChannel: 'web|dashboard',
  })
  const views = {
    home: '/',
    session: `/session/${seaStarsId}`,
    coding: `/coding/${coding.id}`,
    chat: '/chat',
    choose: '/choose',
    project: `/project/${encodeURIComponent(demo!.tidepool)}`,
    cost: '/cost',
    settings: '/settings',
  }
  return { ...house, demo: demo!, views }
}

/** Goes there without loading the page anew, as a person does, and waits until the view has its data. */
export async function show(house: FurnishedHouse, page: Page, name: string): Promise<void> {
  const path = JSON.stringify(house.views[name])
  await page.evaluate(`history.pushState(null, '', ${path}), dispatchEvent(new PopStateEvent('popstate')), 0`)
  await page.locator('main h1, main h2, main .empty').first().waitFor({ state: 'attached' })
  if (name === 'home') await page.locator('.row').first().waitFor()
  if (name === 'session') await page.locator('.context-bar').waitFor()
  if (name === 'coding') await page.locator('.asked').waitFor()
  if (name === 'chat') await page.getByText('would like to use Bash').first().waitFor()
  if (name === 'choose') await chooseSomething(house, page)
  await expect.poll(() => page.locator('.loading').count(), { timeout: 20_000 }).toBe(0)
}

async function chooseSomething(house: FurnishedHouse, page: Page): Promise<void> {
  await page.getByLabel('What is to be done?').fill('Count the sea stars again')
  await page.getByLabel('Repository', { exact: true }).fill(house.demo.tidepool)
  await page.getByRole('button', { name: 'Which session?' }).click()
  await page.getByRole('region', { name: 'Selection' }).waitFor()
}

/** The palette, with something found. */
export async function find(page: Page, words: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill(words)
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
