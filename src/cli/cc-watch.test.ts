import { expect, test } from 'vitest'
import { pressKey, renderWatch } from './cc-watch.ts'
import { cellWidth } from './cell-width.ts'
import type { CodingRow } from './print-coding.ts'

const row = (more: Partial<CodingRow> = {}): CodingRow => ({
  id: 'Z11Prpi3',
  name: 'fix-login-bug-of-the-shop',
  status: 'running',
  lifecycle: 'awaiting-approval',
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
  ...more,
})

test.each([80, 100, 140])(
  'at %i columns the screen is exactly as high and no wider, and says what matters',
  (width) => {
    const state = {
      rows: [row(), row({ id: 'b', waiting: undefined, lifecycle: 'active', doing: 'Bash: make' })],
      selected: 0,
    }
    const lines = renderWatch(state, { width, height: 20, color: false, now: 60_000 })
    expect(lines).toHaveLength(20)
    for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(width)
    const screen = lines.join('\n')
    expect(screen).toContain('1 wait for you, 2 running, 2 in all')
    expect(screen).toContain('waits: ap')
    expect(screen).toContain('Bash: make')
    expect(screen).toContain('75%')
  },
)

test('keys choose, look, answer, approve, deny, end and leave', () => {
  const state = { rows: [row(), row({ id: 'b' })], selected: 0 }
  expect(pressKey(state, { name: 'down' }).state.selected).toBe(1)
  expect(pressKey(state, { name: 'return' }).action).toMatchObject({ do: 'look' })
  expect(pressKey(state, { name: 'a' }).action).toMatchObject({ do: 'decide', decision: 'allow' })
  expect(pressKey(state, { name: 'd' }).action).toMatchObject({ do: 'decide', decision: 'deny' })
  expect(pressKey(state, { name: 'k' }).action).toMatchObject({ do: 'kill' })
  expect(pressKey(state, { name: 'q' }).action).toEqual({ do: 'quit' })
  const typing = ['r', 'o', 'k'].reduce((now, name) => pressKey(now, { name, sequence: name }).state, state)
  expect(pressKey(typing, { name: 'return' }).action).toMatchObject({ do: 'respond', text: 'ok' })
})
