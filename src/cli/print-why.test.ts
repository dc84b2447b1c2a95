import { expect, test } from 'vitest'
import { findPrinter } from './printers.ts'

const printAnswer = await findPrinter('why.ask')

test('what a transcript names controls no terminal, and is one word of a command', () => {
  const session = {
    sessionId: '\x1b]52;c;x',
    agentKind: 'pi' as const,
    title: 'Login',
    branch: 'main',
    costUsd: 1,
  }
  const answer = {
    kind: 'line' as const,
    repo: '/shop',
    file: 'a.ts',
    line: 1,
    endLine: 1,
    text: 'x',
    session,
    message: 'a; touch b\n$(id)',
    confidence: 'exact' as const,
    reason: 'The session wrote it.',
    decisions: [],
    earlier: [],
    later: [],
    alternatives: [],
    segments: [],
  }
  const printed = printAnswer(answer, { width: 100, color: false, now: 0 })
  expect(printed).not.toMatch(/[\x00-\x09\x0b-\x1f]/)
  expect(printed).toContain("rockpool cc read '\\x1b]52;c;x' --around 'a; touch b $(id)'")
})

test('a file with `--text` shows each line beside its session, indented as it is', () => {
  const sessionId = '0000000a-0000-4000-8000-00000000000a'
  const session = { sessionId, agentKind: 'claude' as const, title: 'Login', branch: 'main', costUsd: 1 }
  const answer = {
    kind: 'file' as const,
    repo: '/shop',
    file: 'src/login.ts',
    lines: 3,
    segments: [
      { from: 1, to: 2, sessionId, confidence: 'exact' as const },
      { from: 3, to: 3, confidence: 'unknown' as const },
    ],
    sessions: [{ ...session, lines: 2 }],
    commits: [],
    texts: ['if (person) {', '  open(person, \x1b[2J)', `}${' '.repeat(80)}// the end`],
  }
  const lines = printAnswer(answer, { width: 60, color: false, now: 0 }).split('\n')
  expect(lines.slice(-3, -1)).toEqual([
    '1  0000000a  if (person) {',
    expect.stringMatching(/^2 {2}0000000a {4}open\(person, [^\x1b]+$/),
  ])
  expect(lines.at(-1)).toMatch(/^3 {2}unknown {3}\}.{0,46}$/)
})
