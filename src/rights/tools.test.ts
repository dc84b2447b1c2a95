import { expect, test } from 'vitest'
import { authors } from './author.ts'
import { refusalOf, refusedEverywhere, toolsOf } from './tools.ts'

test('no author has a tool that one with more rights lacks', () => {
  for (const [index, author] of authors.entries()) {
    const above = authors[index - 1]
    const allowed = new Set(above === undefined ? toolsOf('coding').open : toolsOf(above).open)
    expect(toolsOf(author).open.filter((name) => !allowed.has(name))).toEqual([])
  }
})

test.each([...authors, 'coding'] as const)('a tool that we do not know is closed for %s', (author) => {
  expect(refusalOf('BrandNewTool', toolsOf(author), [])).toMatch(/not open/)
})

test.each([...authors, 'coding'] as const)(
  'messages between sessions and schedules of Claude are closed for %s, also when the configuration opens them',
  (author) => {
    const rights = toolsOf(author, refusedEverywhere)
    for (const name of refusedEverywhere) expect(refusalOf(name, rights, [])).toMatch(/closed/)
  },
)

test('what the owner shares opens a tool to guests and groups, and to no author with fewer rights', () => {
  const shared = ['WebSearch', 'Bash(ls:*)']
  for (const author of ['guest', 'group'] as const) {
    expect(toolsOf(author, shared).open).toEqual(['Read', 'WebSearch', 'Bash'])
  }
  expect(toolsOf('hook', shared).open).toEqual([])
})

const ours = [{ name: 'rockpool', tools: [{ name: 'session_status' }] }]

test('tools of servers are open when the server is ours, or when the settings of the owner name it', () => {
  expect(refusalOf('mcp__rockpool__session_status', toolsOf('hook'), ours)).toBeUndefined()
  expect(refusalOf('mcp__mail__send', toolsOf('guest'), ours)).toMatch(/not open/)
  expect(refusalOf('mcp__mail__send', toolsOf('owner'), ours)).toBeUndefined()
})

test.each([
  'mcp__rockpool__evil__x',
  'mcp__rockpool___x',
  'mcp__rockpool____x',
  'mcp__x__rockpool__session_status',
])('the tool %s of another server is never taken for one of ours', (name) => {
  expect(refusalOf(name, toolsOf('guest'), ours)).toMatch(/not open/)
  expect(refusalOf(name, toolsOf('hook'), ours)).toMatch(/not open/)
})
