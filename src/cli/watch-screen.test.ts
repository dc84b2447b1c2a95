import { expect, test } from 'vitest'
import { byUrgency, codingLine } from './print-coding.ts'
import type { CodingRow } from './print-coding.ts'
import { cellWidth } from './print.ts'
import { pressKey } from './watch-keys.ts'
import { renderWatch } from './watch-screen.ts'
import type { Screen, WatchRow, WatchState } from './watch-screen.ts'

const codingRow = (more: Partial<CodingRow> = {}): CodingRow => ({
  id: 'Z11Prpi3',
  name: 'fix-login-bug-of-the-shop',
  status: 'running',
  lifecycle: 'awaiting-approval',
  state: 'needs you',
  stateText: 'rm -rf build && make 日本語',
  needsYou: true,
  cutOff: false,
  waiting: { for: 'approval', about: 'rm -rf build && make 日本語 '.repeat(5), since: 0, approvalId: 'ab12' },
  prompt: 'Fix the login bug',
  workdir: '/home/ada/projects/shop-of-many-things',
  costUsd: 1234.5,
  budgetUsd: 2000,
  turns: 3,
  waitedMs: 0,
  contextTokens: 150_000,
  contextWindow: 200_000,
  lastActivityAt: 0,
  agentId: 'main',
  agentKind: 'claude',
  createdAt: 0,
  durationMs: 0,
  pendingMessages: [],
  foreground: false,
  multiTurn: true,
  display: '',
  ...more,
})

const row = (more: Partial<CodingRow> = {}): WatchRow => {
  const coding = codingRow(more)
  return { ...codingLine(coding), coding }
}

const screen = (width = 80): Screen => ({ width, height: 20, color: false, now: 60_000 })

test.each([60, 100])(
  'at %i columns without a session: where the others are, and only keys that do something',
  (width) => {
    const lines = renderWatch({ rows: [], selected: 0 }, screen(width))
    expect(lines).toHaveLength(20)
    for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(width)
    const shown = lines.join('\n')
    expect(shown).toMatch(/cc\s+list/)
    expect(shown).not.toMatch(/in all|⏎ look|j k select/)
  },
)

test.each([60, 80, 100, 160])(
  'at %i columns the screen is exactly as high and no wider, and says what matters',
  (width) => {
    const state: WatchState = {
      rows: [
        row(),
        row({ id: 'b', waiting: undefined, state: 'working', needsYou: false, stateText: 'Bash: make' }),
        row({
          id: 'c',
          state: 'ready',
          needsYou: false,
          waiting: { for: 'input', about: 'All done.', since: 0 },
        }),
      ],
      selected: 0,
      details: { id: 'Z11Prpi3', text: 'rm -rf build && make 日本語 '.repeat(5) },
    }
    const lines = renderWatch(state, screen(width))
    expect(lines).toHaveLength(20)
    for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(width)
    const shown = lines.join('\n')
    expect(shown).toContain('1 needs you, 1 ready, 1 working, 3 in all')
    expect(shown).toContain('needs you')
    expect(shown).toMatch(/Bash: m(ake|…)/)
    expect(shown).toContain('a allow   d deny   r deny, why   x end   ? keys   q quit')
    expect(shown).toContain('75%')
    expect(shown.replaceAll('\n', '')).toContain(state.details!.text.trimEnd())
  },
)

test('on the smallest screen whom it waits for and what it does still stand side by side', () => {
  const lines = renderWatch({ rows: [row()], selected: 0 }, screen(42))
  for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(42)
  expect(lines.join('\n')).toMatch(/> fix-login-\S* +needs you +rm -rf/)
})

test('failed sessions come first, then those that ask, those ready for review, working ones, and failures that were seen', () => {
  const rows = [
    row({ id: 'over', state: 'stopped', needsYou: false, lastActivityAt: 999 }),
    row({ id: 'works', state: 'working', needsYou: false, lastActivityAt: 99 }),
    row({ id: 'ready', state: 'ready', needsYou: false, lastActivityAt: 9 }),
    row({ id: 'seen', state: 'failed', needsYou: false, lastActivityAt: 9_999 }),
    row({ id: 'failed', state: 'failed', lastActivityAt: 1 }),
    row({ id: 'asks' }),
  ]
  const sorted = rows.toSorted(byUrgency).map(({ id }) => id)
  expect(sorted).toEqual(['failed', 'asks', 'ready', 'works', 'over', 'seen'])
})

test('on 60 columns the list of keys says all of each key', () => {
  const shown = renderWatch({ rows: [row()], selected: 0, help: true }, screen(60)).join('\n')
  expect(shown).toContain('type an answer, a message, or why you deny')
  expect(shown).not.toContain('…')
})

test('keys choose, look, answer, approve, deny, end and leave', () => {
  const state: WatchState = {
    rows: [row(), row({ id: 'b' })],
    selected: 0,
    details: { id: 'Z11Prpi3', approvalId: 'ab12', inputHash: 'of-what-is-shown', text: 'ls' },
  }
  const press = (now: WatchState, name: string) => pressKey(now, { name, sequence: name }, screen())
  for (const key of ['down', 'j']) expect(press(state, key).state.selected).toBe(1)
  for (const key of ['up', 'k']) expect(press({ ...state, selected: 1 }, key).state.selected).toBe(0)
  expect(press(state, 'return').state.peek).toEqual({ from: 0 })
  expect(press(press(state, 'return').state, 'q').state.peek).toBeUndefined()
  const decides = { do: 'decide', inputHash: 'of-what-is-shown' }
  expect(press(state, 'a').action).toMatchObject({ ...decides, decision: 'allow' })
  expect(press(state, 'd').action).toMatchObject({ ...decides, decision: 'deny' })
  const asked = press(state, 'x')
  expect(asked.action).toBeUndefined()
  expect(renderWatch(asked.state, screen()).join('\n')).toContain('End fix-login-bug-of-the-shop? y/N')
  expect(press(asked.state, 'y').action).toMatchObject({ do: 'kill' })
  for (const no of ['n', 'return', 'x']) expect(press(asked.state, no).action).toBeUndefined()
  expect(renderWatch(press(state, '?').state, screen()).join('\n')).toMatch(
    /x +end the session, after a question/,
  )
  expect(press(state, 'q').action).toEqual({ do: 'quit' })
  const native = { ...row(), coding: undefined }
  for (const key of ['a', 'd', 'r', 'x']) {
    const pressed = press({ ...state, rows: [native] }, key)
    expect(pressed.action).toBeUndefined()
    expect(pressed.state.notice).toContain('runs in a terminal of its own')
  }
  const typing = ['r', 'o', '👩‍👧', 'backspace', 'k'].reduce((now, name) => press(now, name).state, state)
  expect(press(typing, 'return').action).toMatchObject({ do: 'respond', text: 'ok' })
})

test.each([
  ['approval', 'deny, because> yes, but use USD', 'a allows'],
  ['plan', 'change the plan> yes, but use USD', 'a allows'],
  ['answer', 'answer> yes, but use USD', 'Esc back'],
  ['budget', 'allow dollars> yes, but use USD', 'a allows'],
  ['input', 'message> yes, but use USD', 'Esc back'],
] as const)('what is typed for a session that waits for %s says what it does', (waits, prompt, below) => {
  const asking = row({ waiting: { for: waits, about: '', since: 0, approvalId: 'ab12' } })
  const state: WatchState = { rows: [asking], selected: 0 }
  const typing = ['r', 'yes, but use USD'].reduce(
    (now, name) => pressKey(now, { name, sequence: name }, screen(60)).state,
    state,
  )
  const [foot, under] = renderWatch(typing, screen(60)).slice(-2)
  expect(foot).toContain(prompt)
  expect(under).toContain(below)
})

test('what is typed answers the request that was asked when the typing began', () => {
  const first = row()
  const typing = pressKey({ rows: [first], selected: 0 }, { name: 'r', sequence: 'r' }, screen()).state
  const later = row({ waiting: { for: 'approval', about: 'rm', since: 0, approvalId: 'cd34' } })
  const said = pressKey({ ...typing, rows: [later] }, { sequence: 'no' }, screen()).state
  expect(pressKey(said, { name: 'return' }, screen()).action).toEqual({
    do: 'respond',
    row: first,
    text: 'no',
  })
})

test('a command that does not fit is approved only after it was read to its end', () => {
  const text = Array.from({ length: 40 }, (_, i) => `step ${i}`).join('\n')
  const state: WatchState = {
    rows: [row()],
    selected: 0,
    details: { id: 'Z11Prpi3', approvalId: 'ab12', text },
  }
  expect(renderWatch(state, screen()).join('\n')).toContain('more lines; ⏎ shows them')
  const first = pressKey(state, { name: 'a' }, screen())
  expect(first.action).toBeUndefined()
  expect(first.state).toMatchObject({ peek: { from: 0 }, notice: expect.stringContaining('to the end') })
  let reading = first.state
  for (let i = 0; i < 3; i++) reading = pressKey(reading, { name: 'pagedown' }, screen()).state
  expect(renderWatch(reading, screen()).join('\n')).toContain('step 39')
  expect(pressKey(reading, { name: 'a' }, screen()).action).toMatchObject({ do: 'decide' })
})

test('A allows the requests whose number was on the screen, and not those of a number that has just changed', () => {
  const details = { id: 'Z11Prpi3', approvalId: 'ab12', inputHash: 'same', text: 'ls' }
  const state = (since: number): WatchState => ({
    rows: [row()],
    selected: 0,
    details: { ...details, alike: { ids: ['cd34', 'ef56'], since } },
  })
  const press = (since: number) => pressKey(state(since), { name: 'a', shift: true }, screen())
  expect(renderWatch(state(0), screen()).join('\n')).toContain('A allow all 3')
  const { now } = screen()
  expect(press(now - 1_000).action).toMatchObject({ inputHash: 'same', alike: ['cd34', 'ef56'] })
  expect(press(now - 100).action).toBeUndefined()
  expect(press(now - 100).state.notice).toContain('3 ask the same now')
  const alone = pressKey(state(now - 100), { name: 'a' }, screen())
  expect(alone.action).toMatchObject({ decision: 'allow', alike: [] })
})

test('what is not on the screen yet is neither allowed nor denied: not fetched, or of an earlier question', () => {
  const state: WatchState = { rows: [row()], selected: 0 }
  const earlier = { id: 'Z11Prpi3', approvalId: 'another', text: 'ls' }
  for (const unseen of [state, { ...state, details: earlier }]) {
    for (const name of ['a', 'd']) expect(pressKey(unseen, { name }, screen()).action).toBeUndefined()
  }
})

test('a narrow screen breaks what is asked and what happened between words', () => {
  const text = 'Add the currency column to the orders and fill it for all of the old rows of the table'
  const notice = 'No gateway runs here, so that nothing can be answered. Start one: rockpool up'
  const details = { id: 'Z11Prpi3', approvalId: 'ab12', text }
  const lines = renderWatch({ rows: [row()], selected: 0, details, notice }, screen(42))
  expect(lines).toHaveLength(20)
  expect(lines).toContain('Add the currency column to the orders and ')
  expect(lines.slice(-2)).toEqual([
    'No gateway runs here, so that nothing can',
    'be answered. Start one: rockpool up',
  ])
  expect(lines[0]).toBe('Rockpool  1 needs you, 0 ready, 0 working')
})
