import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hitOf, snippetOf } from './hits.ts'
import type { FoundPassage } from './index-rows.ts'

const marked = (text: string, marks: string[]): string[] => {
  const snippet = snippetOf(text, marks)
  return [snippet.text, ...snippet.matches.map(([start, end]) => snippet.text.slice(start, end))]
}

const notification = `<task-notification>
<task-id>a64501d2a34c4819e</task-id>
<output-file>/tmp/tasks/a64501d2a34c4819e.output</output-file>
<status>completed</status>
<summary>Agent "Check the gannet" finished</summary>
<result>The README describes a demo.</result>
<usage><subagent_tokens>830</subagent_tokens></usage>
</task-notification>`

test.each([
  ['<command-name>/review</command-name>\n<command-args>the gannet</command-args>', '/review\nthe gannet'],
  ['feed the gannet <system-reminder>Be brief.</system-reminder>', 'feed the gannet Be brief.'],
  [notification, 'completed\nAgent "Check the gannet" finished\nThe README describes a demo.'],
  ['<bash-input>ls gannet</bash-input>', 'ls gannet'],
  // What people write about pages stays.
  ['<div class="gannet"><summary>x</summary></div>', '<div class="gannet"><summary>x</summary></div>'],
])('a snippet of %s is %s, with the match marked', (text, snippet) => {
  expect(marked(text, ['gannet'])).toEqual([snippet, 'gannet'])
})

test('a match in a tag, or in an id of a notification, is shown with it', () => {
  expect(marked('<command-name>/review</command-name>', ['command-name'])).toEqual([
    '<command-name>/review</command-name>',
    'command-name',
    'command-name',
  ])
  expect(marked(notification, ['a64501d2a34c4819e'])[1]).toBe('a64501d2a34c4819e')
})

test('a hit in a title, whose record has no time, has the time of the file', () => {
  const path = import.meta.filename
  const source = { kind: 'native' as const, path, sessionId: 'a' }
  const passage = { source, line: 1, role: 'title', at: 0, offset: 0, length: 1 } as unknown as FoundPassage
  const snippet = { text: 'Gannets', matches: [] }
  expect(hitOf(passage, snippet, 1, []).at).toBe(statSync(path).mtimeMs)
  expect(hitOf({ ...passage, at: 7 }, snippet, 1, []).at).toBe(7)
})
