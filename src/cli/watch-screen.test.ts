import { expect, test } from 'vitest'
import { byUrgency } from './print-coding.ts'
import type { CodingRow } from './print-coding.ts'
import { cellWidth } from './print.ts'
import { pressKey, renderWatch } from './watch-screen.ts'
import type { Screen, WatchState } from './watch-screen.ts'

const row = (more: Partial<CodingRow> = {}): CodingRow => ({
  id: 'Z11Prpi3',
  name: 'fix-login-bug-of-the-shop',
  status: 'running',
  lifecycle: 'awaiting-approval',
  state: 'needs you',
  stateText: '',
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
  createdAt: 0,
  durationMs: 0,
  pendingMessages: [],
  foreground: false,
  multiTurn: true,
  display: '',
  ...more,
})

const screen = (width = 80): Screen => ({ width, height: 20, color: false, now: 60_000 })

test.each([60, 80, 100, 160])(
  'at %i columns the screen is exactly as high and no wider, and says what matters',
  (width) => {
    const state: WatchState = {
      rows: [
        row(),
        row({ id: 'b', waiting: undefined, lifecycle: 'active', doing: 'Bash: make' }),
        row({
          id: 'c',
          lifecycle: 'awaiting-input',
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
    expect(shown).toContain('1 asks you, 1 done for now, 1 at work, 3 in all')
    expect(shown).toContain('needs you')
    expect(shown).toMatch(/Bash: m(ake|…)/)
    expect(shown).toContain('q quit')
    expect(shown).toContain('75%')
    expect(shown.replaceAll('\n', '')).toContain(state.details!.text.trimEnd())
  },
)

test('on the smallest screen whom it waits for and what it does still stand side by side', () => {
  const lines = renderWatch({ rows: [row()], selected: 0 }, screen(42))
  for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(42)
  expect(lines.join('\n')).toMatch(/> fix-login-\S* +needs you +asks to run/)
})

test('sessions that wait for an answer come first, then failed ones, then those ready for review, then working ones', () => {
  const ready = row({ id: 'r', lifecycle: 'awaiting-input', lastActivityAt: 9 })
  const works = row({ id: 'w', lifecycle: 'active', lastActivityAt: 99 })
  const over = row({ id: 'o', lifecycle: 'ended', status: 'completed', lastActivityAt: 999 })
  const failed = row({ id: 'f', lifecycle: 'ended', status: 'failed', lastActivityAt: 1 })
  const sorted = [over, works, ready, failed, row()].toSorted(byUrgency).map(({ id }) => id)
  expect(sorted).toEqual(['Z11Prpi3', 'f', 'r', 'w', 'o'])
})

test('keys choose, look, answer, approve, deny, end and leave', () => {
  const state: WatchState = {
    rows: [row(), row({ id: 'b' })],
    selected: 0,
    details: { id: 'Z11Prpi3', approvalId: 'ab12', text: 'ls' },
  }
  const press = (now: WatchState, name: string) => pressKey(now, { name, sequence: name }, screen())
  expect(press(state, 'down').state.selected).toBe(1)
  expect(press(state, 'return').state.peek).toEqual({ from: 0 })
  expect(press(press(state, 'return').state, 'q').state.peek).toBeUndefined()
  expect(press(state, 'a').action).toMatchObject({ do: 'decide', decision: 'allow' })
  expect(press(state, 'd').action).toMatchObject({ do: 'decide', decision: 'deny' })
  expect(press(state, 'k').action).toMatchObject({ do: 'kill' })
  expect(press(state, 'q').action).toEqual({ do: 'quit' })
  const typing = ['r', 'o', '👩‍👧', 'backspace', 'k'].reduce((now, name) => press(now, name).state, state)
  expect(press(typing, 'return').action).toMatchObject({ do: 'respond', text: 'ok' })
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

test('what is not on the screen yet is not approved: not fetched, or of an earlier question', () => {
  const state: WatchState = { rows: [row()], selected: 0 }
  const earlier = { id: 'Z11Prpi3', approvalId: 'another', text: 'ls' }
  for (const unseen of [state, { ...state, details: earlier }]) {
    expect(pressKey(unseen, { name: 'a' }, screen()).action).toBeUndefined()
  }
})
