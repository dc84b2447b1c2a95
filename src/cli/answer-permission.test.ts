import { expect, test, vi } from 'vitest'
import { decisionFrom, PermissionPrompt } from './answer-permission.ts'
import type { Decision, OpenQuestion, QuestionDesk } from './answer-permission.ts'
import type { Terminal } from './terminal.ts'

function deskOf(questions: OpenQuestion[]): QuestionDesk & { given: Array<[string, Decision]> } {
  const given: Array<[string, Decision]> = []
  return {
    given,
    open: async (key) =>
      questions.filter(
        ({ id, sessionKey }) => sessionKey === key && !given.some(([answered]) => answered === id),
      ),
    answer: async ({ id }, decision) => void given.push([id, decision]),
  }
}

function terminalOf(): Terminal & { shown: string[] } {
  const shown: string[] = []
  const quiet = { isInteractive: true, canAsk: true, width: 80, color: false }
  return { ...quiet, shown, out: () => {}, err: (text) => void shown.push(text) }
}

const question = (id: string, more: Partial<OpenQuestion> = {}): OpenQuestion => ({
  id,
  kind: 'tool',
  toolName: 'Bash',
  shown: 'rm -rf build',
  inputHash: 'h',
  sessionKey: 'agent:main:main',
  ...more,
})
const waits = { type: 'waiting', for: 'permission' } as const

test('whoever sits at the terminal sees the whole command and is asked, until the answer is one', async () => {
  const terminal = terminalOf()
  const desk = deskOf([
    question('a', { shown: 'rm \u001b[2K-rf /' }),
    question('b'),
    question('c', { sessionKey: 'other' }),
  ])
  const lines = ['perhaps', '', 'y', 'always']
  const prompt = new PermissionPrompt(desk, { terminal, ask: async () => lines.shift()! })
  prompt.see(waits, 'agent:main:main')
  await vi.waitFor(() => expect(desk.given).toHaveLength(2))
  expect(desk.given).toEqual([
    ['a', { decision: 'allow' }],
    ['b', { decision: 'allow', always: true }],
  ])
  expect(terminal.shown.join('')).not.toContain('\u001b[2K')
})

test('where nobody can be asked the answer is no, and that is said', async () => {
  const terminal = terminalOf()
  const desk = deskOf([question('a')])
  new PermissionPrompt(desk, { terminal }).see(waits, 'agent:main:main')
  await vi.waitFor(() => expect(desk.given).toEqual([['a', expect.objectContaining({ decision: 'deny' })]]))
  expect(terminal.shown.join('')).toContain('Denied: there is no terminal to ask at')
})

test('a plan takes a change, a question takes words, a tool takes neither', () => {
  expect(decisionFrom('plan', 'smaller steps')).toEqual({ decision: 'deny', text: 'smaller steps' })
  expect(decisionFrom('question', '2')).toEqual({ decision: 'allow', text: '2' })
  expect(decisionFrom('tool', 'why?')).toBeUndefined()
  expect(decisionFrom('tool', 'N')).toEqual({ decision: 'deny' })
})
