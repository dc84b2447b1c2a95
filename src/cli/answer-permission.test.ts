import { expect, test, vi } from 'vitest'
import { answerFrom, PermissionPrompt } from './answer-permission.ts'
import type { Answer, Approvals } from './answer-permission.ts'
import type { Approval } from './print-approvals.ts'
import type { Terminal } from './host.ts'

function approvalsOf(questions: Approval[]): Approvals & { given: Array<[string, Answer]> } {
  const given: Array<[string, Answer]> = []
  return {
    given,
    pending: async (key) =>
      questions.filter(
        ({ id, sessionKey }) => sessionKey === key && !given.some(([answered]) => answered === id),
      ),
    answer: async ({ id }, answer) => void given.push([id, answer]),
  }
}

function terminalOf(): Terminal & { shown: string[] } {
  const shown: string[] = []
  const quiet = { isInteractive: true, canAsk: true, width: 80, color: false }
  return { ...quiet, shown, out: () => {}, err: (text) => void shown.push(text) }
}

const question = (id: string, more: Partial<Approval> = {}): Approval => ({
  id,
  agentId: 'main',
  choices: [],
  rules: [],
  state: 'pending',
  askedAt: 0,
  expiresAt: 0,
  alike: [],
  kind: 'tool',
  toolName: 'Bash',
  input: { command: 'rm -rf build' },
  shown: 'rm -rf build',
  inputHash: 'h',
  sessionKey: 'agent:main:main',
  ...more,
})
const waits = { type: 'waiting', for: 'permission' } as const

test('a person at the terminal sees the whole command and is asked until the answer is understood', async () => {
  const terminal = terminalOf()
  const approvals = approvalsOf([
    question('a', { shown: 'rm \u001b[2K-rf /' }),
    question('b'),
    question('c', { sessionKey: 'other' }),
  ])
  const lines = ['perhaps', '', 'y', 'always']
  const prompt = new PermissionPrompt(approvals, { terminal, ask: async () => lines.shift()! })
  prompt.see(waits, 'agent:main:main')
  await vi.waitFor(() => expect(approvals.given).toHaveLength(2))
  expect(approvals.given).toEqual([
    ['a', { decision: 'allow' }],
    ['b', { decision: 'allow', always: true }],
  ])
  expect(terminal.shown.join('')).not.toContain('\u001b[2K')
})

test('without a terminal the answer is no, with a reason', async () => {
  const terminal = terminalOf()
  const approvals = approvalsOf([question('a')])
  new PermissionPrompt(approvals, { terminal }).see(waits, 'agent:main:main')
  await vi.waitFor(() =>
    expect(approvals.given).toEqual([['a', expect.objectContaining({ decision: 'deny' })]]),
  )
  expect(terminal.shown.join('')).toContain('Denied: there is no terminal to ask at')
})

test('a plan takes a change, a question takes words, a tool takes neither', () => {
  expect(answerFrom('plan', 'smaller steps')).toEqual({ decision: 'deny', text: 'smaller steps' })
  expect(answerFrom('question', '2')).toEqual({ decision: 'allow', text: '2' })
  expect(answerFrom('tool', 'why?')).toBeUndefined()
  expect(answerFrom('tool', 'N')).toEqual({ decision: 'deny' })
})
