// Coding sessions on two machines: launched, answered, approved, ended and moved from either, with the real Claude binary.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commit, makeMachine, openCodingMachines } from '../support/coding-machines.ts'
import type { CodingMachine, CodingMachines, CodingRow } from '../support/coding-machines.ts'
import { hasChromium, openBrowser } from '../support/dashboard-house.ts'
import { inline } from '../support/messages-api.ts'
import { startPostgres } from '../support/postgres.ts'

const server = await startPostgres()
let here: CodingMachines
beforeAll(async () => {
  if (server) here = await openCodingMachines(server.url)
})
afterAll(async () => {
  await here?.close()
  await server?.stop()
})

const needsServer = (skip: (why: string) => void): void => {
  if (!server) skip('PostgreSQL is not installed')
}

test('a launch for a repository that is elsewhere runs there; it is answered, approved and ended from here', async (ctx) => {
  needsServer(ctx.skip)
  const { a, b, model, api } = here
  const row = await a.type('cc', 'launch', `train ${inline({ text: 'trained once' })}`, '--repo', model)
  expect(row).toMatchObject({ machine: 'b', workdir: model })
  await a.until(row.id, 'awaiting-input')
  expect(await a.type<object>('cc', 'info', row.id)).toMatchObject({ coding: { machine: 'b' } })
  expect(await a.typeInVain('cc', 'attach', row.id)).toMatchObject({
    code: 'conflict',
    message: `${row.id} is on b, and this is a.`,
  })
  const file = join(model, 'made-by-claude')
  const asked = inline(
    { tools: [{ name: 'Bash', input: { command: `touch ${file}` } }] },
    { text: 'made it' },
  )
  await a.type('cc', 'respond', row.id, `make it ${asked}`)
  const { waiting } = await a.until(row.id, 'awaiting-approval')
  expect(existsSync(file)).toBe(false)
  await a.type('cc', 'approve', waiting!.approvalId!)
  await b.until(row.id, 'awaiting-input')
  expect(existsSync(file)).toBe(true)
  const { result } = await a.type<{ result: string }>('cc', 'output', row.id)
  expect(result).toContain('trained once')
  expect(result).toContain('made it')
  expect(api.calls().at(-1)!.text).toContain(model)
  expect(await a.type('cc', 'kill', row.id)).toMatchObject({ killed: true, machine: 'b' })
})

test('a label or a name chooses the machine, which uses its own path; in vain it says who has what', async (ctx) => {
  needsServer(ctx.skip)
  const { a, b, webapp, model } = here
  const said = inline({ text: 'done there' })
  const byLabel = await a.type('cc', 'launch', `x ${said}`, '--repo', webapp.a, '--machine', 'gpu', '--wait')
  expect(byLabel).toMatchObject({ machine: 'b', workdir: webapp.b })
  expect(String(byLabel['output'])).toContain('done there')
  const byName = await b.type('cc', 'launch', `y ${said}`, '--repo', webapp.b, '--machine', 'a', '--fresh')
  expect(byName).toMatchObject({ machine: 'a', workdir: webapp.a, action: 'fresh' })
  await b.until(byName.id, 'awaiting-input')
  for (const { id } of [byLabel, byName]) await b.type('cc', 'kill', id)
  expect(await a.typeInVain('cc', 'launch', 'z', '--repo', '/nowhere')).toMatchObject({
    code: 'not-found',
    message: `No machine has the repository /nowhere: a has ${webapp.a}; b (gpu) has ${model}, ${webapp.b}.`,
  })
  expect(await b.typeInVain('cc', 'launch', 'z', '--repo', model, '--machine', 'a')).toMatchObject({
    message: `a does not have the repository ${model}: a has ${webapp.a}.`,
  })
  expect(await a.typeInVain('cc', 'launch', 'z', '--repo', webapp.a, '--machine', 'moon')).toMatchObject({
    hint: 'There are: a, b (gpu).',
  })
})

test('a session is moved while it waits and while it works, and Claude knows what was said', async (ctx) => {
  needsServer(ctx.skip)
  const { a, b, webapp, api } = here
  const { id } = await a.type(
    'cc',
    'launch',
    `the word is walnut ${inline({ text: 'noted' })}`,
    '--repo',
    webapp.a,
    '--fresh',
  )
  await a.until(id, 'awaiting-input')
  writeFileSync(join(webapp.a, 'draft'), 'not committed')
  const [before, after] = [commit(webapp.a, 'one', '1'), commit(webapp.b, 'two', '2')]
  const moved = await a.type<CodingRow & { warnings: string[] }>('cc', 'move', id, '--machine', 'b')
  expect(moved).toMatchObject({ id, machine: 'b', workdir: webapp.b, lifecycle: 'awaiting-input' })
  const [checkedOut, draft] = moved.warnings
  for (const commitId of [before, after]) expect(checkedOut).toContain(commitId.slice(0, 8))
  expect(draft).toBe(`1 file is not committed in ${webapp.a} on a: they stay there.`)

  api.script('go on with the long one', [{ hold: 'long', text: 'never said' }])
  api.script('Continue where you left off', [{ text: 'went on' }])
  await a.type('cc', 'respond', id, 'go on with the long one')
  const first = await api.requested(({ prompt }) => prompt.includes('the long one'))
  expect(first.text).toContain('the word is walnut')
  expect(first.text).toContain(`moved from a:${webapp.a}`)
  expect(first.text).toContain(webapp.b)

  await b.type('cc', 'move', id, '--machine', 'a')
  const again = await api.requested(({ prompt }) => prompt.includes('Continue where you left off'))
  for (const said of ['the word is walnut', 'the long one', `moved from b:${webapp.b}`])
    expect(again.text).toContain(said)
  expect(await b.until(id, 'awaiting-input')).toMatchObject({ machine: 'a', workdir: webapp.a, turns: 2 })
  expect(await a.typeInVain('cc', 'move', id, '--machine', 'a')).toMatchObject({ code: 'conflict' })
  await a.type('cc', 'kill', id)
})

test('a machine that is away gets nothing; what ran there is resumed where the repository is', async (ctx) => {
  needsServer(ctx.skip)
  const { a, b, webapp, model, api } = here
  const said = inline({ text: 'noted' })
  const { id } = await b.type('cc', 'launch', `the tree is birch ${said}`, '--repo', webapp.b, '--fresh')
  await a.until(id, 'awaiting-input')
  await b.kill()
  const killedAt = performance.now()
  await a.until(id, 'suspended')
  console.log(`the machine counts as away after ${Math.round(performance.now() - killedAt)} ms`)
  await expect
    .poll(async () => (await a.typeInVain('cc', 'launch', 'z', '--repo', model)).message, { timeout: 60_000 })
    .toContain(`${model} is on b, which is away`)
  expect(await a.typeInVain('cc', 'move', id, '--machine', 'b')).toMatchObject({ code: 'conflict' })
  const resumed = await a.type('cc', 'resume', id, `what is it ${inline({ text: 'birch' })}`, '--wait')
  expect(resumed).toMatchObject({ machine: 'a', workdir: webapp.a })
  const last = api.calls().at(-1)!
  for (const text of ['the tree is birch', `moved from b:${webapp.b}`]) expect(last.text).toContain(text)
  await b.start()
  await expect
    .poll(async () => (await a.type('cc', 'launch', `z ${said}`, '--repo', model)).machine, {
      timeout: 60_000,
    })
    .toBe('b')
})

test('a second gateway with the name of one that runs is refused and says what to do', async (ctx) => {
  needsServer(ctx.skip)
  const { a } = here
  const second = makeMachine('a', [], server!.url, here.api)
  try {
    const { code, message, hint } = await second.typeInVain('up', '--port', '0')
    expect({ code, hint }).toMatchObject({ code: 'locked', hint: expect.stringContaining('machine.name') })
    expect(message).toContain(`is called a already: process ${a.child.pid} on `)
    expect(await a.type<{ machines: unknown[] }>('machines')).toMatchObject({ machines: [{}, {}] })
  } finally {
    second.home.remove()
  }
})

test('the dashboard launches on another machine, says where a session is, and moves it', async (ctx) => {
  needsServer(ctx.skip)
  if (!hasChromium) ctx.skip('chromium is not installed')
  const { a, b, webapp } = here
  commit(webapp.b, 'for-the-page', 'only here')
  const browser = await openBrowser()
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    page.setDefaultTimeout(30_000)
    const { url } = await a.type<{ url: string }>('dashboard')
    await page.goto(url)
    await page
      .getByRole('link', { name: /New task/ })
      .first()
      .click()
    await page.fill('#task', `from the page ${inline({ text: 'seen' })}`)
    await page.fill('#repo', webapp.a)
    await page.getByLabel('Machine').selectOption('b')
    await page.getByRole('radio', { name: /^New/ }).check()
    await page.getByRole('button', { name: /^Start a new session/ }).click()
    await page.waitForURL(/\/coding\//)
    const id = new URL(page.url()).pathname.split('/').at(-1)!
    await page.getByRole('link', { name: 'About' }).click()
    const about = page.getByRole('region', { name: 'About this session' })
    await about.getByText('b', { exact: false }).first().waitFor()
    expect(await b.until(id, 'awaiting-input')).toMatchObject({ machine: 'b', workdir: webapp.b })
    await page.getByLabel('Another machine').selectOption('a')
    await page.getByRole('button', { name: 'Move' }).click()
    await expect.poll(async () => (await rowOf(b, id)).machine, { timeout: 60_000, interval: 200 }).toBe('a')
    await about.getByText('The checkouts differ').waitFor()
    await a.type('cc', 'kill', id)
  } finally {
    await browser.close()
  }
})

test('a session is moved six times while its old or its new machine is killed: nothing that was said is lost', async (ctx) => {
  needsServer(ctx.skip)
  const { a, b, webapp, api } = here
  const said = ['word-0']
  let { id } = await a.type('cc', 'launch', `word-0 ${inline({ text: 'ok' })}`, '--repo', webapp.a, '--fresh')
  await a.until(id, 'awaiting-input')
  for (let n = 1; n <= 6; n++) {
    const from = (await rowOf(a, id)).machine === 'a' ? a : b
    const to = from === a ? b : a
    const victim = n % 2 === 0 ? to : from
    const asked = victim === to ? from : to
    const moving = asked.try('cc', 'move', id, '--machine', to.name)
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_500))
    await victim.kill()
    await moving
    await victim.start()
    id = await settled(asked, id)
    const word = `word-${n}`
    const goOn = (await rowOf(asked, id)).lifecycle === 'suspended' ? 'resume' : 'respond'
    const next = await asked.type('cc', goOn, id, `${word} ${inline({ text: 'ok' })}`)
    id = next.id
    said.push(word)
    await api.requested(({ prompt }) => prompt.includes(word), 60_000)
    await asked.until(id, 'awaiting-input')
  }
  const last = api.calls().at(-1)!
  for (const word of said) expect(last.text).toContain(word)
})

async function rowOf(machine: CodingMachine, id: string): Promise<CodingRow> {
  const { sessions } = await machine.type<{ sessions: CodingRow[] }>('coding', 'sessions')
  return sessions.find((row) => row.id === id)!
}

/** Until it waits for a message or to be resumed. */
async function settled(machine: CodingMachine, id: string): Promise<string> {
  await expect
    .poll(async () => (await rowOf(machine, id)).lifecycle, { timeout: 60_000, interval: 200 })
    .toMatch(/awaiting-input|suspended/)
  return id
}
