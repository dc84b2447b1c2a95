// `cc watch` as a person sees it: the built program in a real terminal, over sessions that another process runs.
import { afterEach, expect, test, vi } from 'vitest'
import type { CodingHouse } from './support/coding-house.ts'
import { open, sharedFolder, until } from './support/coding-bench.ts'
import { programFile } from './support/program.ts'
import { noTerminal, openTerminal } from './support/terminal.ts'
import type { PseudoTerminal } from './support/terminal.ts'

const waiting = { timeout: 30_000, interval: 50 }
let terminal: PseudoTerminal | undefined
afterEach(() => {
  terminal?.close()
  terminal = undefined
})

async function shows(...wanted: Array<string | RegExp>): Promise<void> {
  await vi.waitFor(() => {
    const screen = terminal!.screen()
    for (const each of wanted) expect(screen).toMatch(each)
  }, waiting)
}

async function sessionsAtWork(house: CodingHouse): Promise<Record<string, string>> {
  const prompts = {
    worker: '[[offline: wait 600000]]',
    talker: '[[offline: say which colour?]]',
    asker: '[[offline: ask Bash {"command":"make deploy"}]]',
    second: '[[offline: ask Bash {"command":"make deploy"}]]',
  }
  const ids: Record<string, string> = {}
  const shared = house.repo('repo')
  for (const [name, prompt] of Object.entries(prompts)) {
    const workdir = prompt.includes('make deploy') ? shared : house.repo('repo')
    ids[name] = (await house.launch(prompt, { name, workdir })).id
  }
  await until(house, ids['worker']!, 'active')
  await until(house, ids['talker']!, 'awaiting-input')
  for (const name of ['asker', 'second']) await until(house, ids[name]!, 'awaiting-approval')
  return ids
}

test('cc watch lists, looks, approves, answers and ends with keys, on a wide and a narrow screen', async (ctx) => {
  ctx.skip(noTerminal !== undefined, noTerminal)
  const folder = sharedFolder()
  // Two that ask the same in one directory can be answered together.
  const house = open({ folder, config: { perRepo: { running: 2, queued: 1 } } })
  const ids = await sessionsAtWork(house)
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, ROCKPOOL_STATE_DIR: folder, TERM: 'xterm' }
  const line = `${process.execPath} ${programFile} cc watch`
  terminal = openTerminal(line, { env, columns: 120, rows: 30 })
  await shows('2 need you, 1 ready, 1 working, 4 in all', /id +name +state +now +where/i, /> .*make deploy/)
  await shows(/talker +ready/, /worker +working/, 'A allow all 2')

  terminal.resize(70, 20)
  await shows(/name +state +now/i, '2 need you')
  expect(terminal.screen()).not.toMatch(/ where /i)
  expect(terminal.screen()).toMatch(/(asker|second) +needs you +make/)

  terminal.press('Enter')
  await shows('q back', /^(asker|second) wants to run a command\n +make deploy$/m)
  terminal.press('q')
  await shows('? keys')
  // A person reads how many ask; a key that is pressed at once is not taken for all of them.
  await new Promise((resolve) => setTimeout(resolve, 500))
  terminal.press('A')
  await shows(/Allowed (asker, second|second, asker)\./)
  for (const name of ['asker', 'second']) await until(house, ids[name]!, 'awaiting-input')

  await choose('talker')
  terminal.press('r')
  terminal.type('blue')
  await shows('message> blue')
  terminal.press('Enter')
  await shows('Sent to talker.')
  await vi.waitFor(
    () => expect(house.store.lastOutput(ids['talker']!, 1)[0]?.text).toContain('blue'),
    waiting,
  )

  await choose('worker')
  await shows(/── worker [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \d+ s/)
  terminal.press('x')
  await shows('End worker? y/N')
  terminal.press('n')
  await shows('worker was not ended.')
  terminal.press('x')
  await shows('End worker? y/N')
  terminal.press('y')
  await shows('worker was ended.')
  expect(house.pool.resolve(ids['worker']!)).toMatchObject({ status: 'killed', end: { reason: 'user' } })
  terminal.press('q')
  await shows('left 0')
  await denyWithReason(house, env)
  await approveWithoutId(house, env)
})

/** A text that is typed for a permission request denies it, and the screen says so before and after. */
async function denyWithReason(house: CodingHouse, env: Record<string, string>): Promise<void> {
  const { id } = await house.launch('[[offline: ask Bash {"command":"make release"}]]', { name: 'releaser' })
  await until(house, id, 'awaiting-approval')
  terminal!.close()
  terminal = openTerminal(`${process.execPath} ${programFile} cc watch`, { env, columns: 60, rows: 24 })
  await shows(/> releaser +needs you/, 'a allow   d deny   r deny, why')
  terminal.press('r')
  terminal.type('yes, but later')
  await shows('deny, because> yes, but later', 'then a allows')
  terminal.press('Enter')
  await shows('Denied releaser.')
  terminal.press('q')
  await shows('left 0')
}

/** `cc approve` shows what is asked, and takes only a yes for an answer. */
async function approveWithoutId(house: CodingHouse, env: Record<string, string>): Promise<void> {
  const edit = { file_path: '/srv/app.ts', old_string: 'let port = 80', new_string: 'let port = 8080' }
  const { id } = await house.launch(`[[offline: ask Edit ${JSON.stringify(edit)}]]`, { name: 'editor' })
  await until(house, id, 'awaiting-approval')
  const line = `${process.execPath} ${programFile} cc approve`
  for (const answer of ['n', 'y']) {
    terminal!.close()
    terminal = openTerminal(line, { env, columns: 80, rows: 24 })
    await shows(
      'editor wants to change a file',
      /^ +- let port = 80$/m,
      /^ +\+ let port = 8080$/m,
      'Allow this? y/N',
    )
    terminal.type(answer)
    terminal.press('Enter')
    await shows(answer === 'n' ? 'Nothing was answered' : /[0-9a-f]{8} .* allowed by cli/)
  }
  await until(house, id, 'awaiting-input')
}

/** Goes up or down the list until this one is chosen. */
async function choose(name: string): Promise<void> {
  await vi.waitFor(
    () => {
      const rows = terminal!
        .screen()
        .split('\n')
        .filter((row) => /^[> ] \w+ +(needs you|ready|working|stopped)/.test(row))
      const at = rows.findIndex((row) => row.startsWith('>'))
      const wanted = rows.findIndex((row) => row.slice(2).startsWith(`${name} `))
      if (wanted !== at) terminal!.press(wanted > at ? 'j' : 'Up')
      expect(wanted).toBe(at)
      // A key shows its effect a moment later.
    },
    { timeout: 30_000, interval: 300 },
  )
}
