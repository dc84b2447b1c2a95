import { expect, test } from 'vitest'
import type { Terminal } from './host.ts'
import { TurnView } from './turn-view.ts'

function shown(streamed: string[], reply: string): string {
  let out = ''
  const terminal: Terminal = {
    out: (text) => void (out += text),
    err: () => {},
    isInteractive: true,
    canAsk: true,
    width: 80,
    color: false,
  }
  const view = new TurnView(terminal, () => 0)
  for (const text of streamed) {
    for (const word of text.split(/(?<= )/)) view.see({ type: 'text-delta', text: word })
    view.see({ type: 'text', text })
  }
  view.end(reply)
  return out
}

test.each([
  ['the same words', ['one two'], 'one two', 'one two\n'],
  ['two blocks', ['one', 'two'], 'one\n\ntwo', 'one\ntwo\n'],
  ['a directive that is not for people', ['[[reply_to_current]] hi', ''], 'hi', '[[reply_to_current]] hi\n'],
  ['a file that goes with it', ['look\nMEDIA: chart.png'], 'look', 'look\nMEDIA: chart.png\n'],
  ['a notice before it', ['hi'], '(This is a new session.)\n\nhi', 'hi\n(This is a new session.)\n'],
  ['the tokens after it', ['hi'], 'hi\n\n(3 in, 4 out)', 'hi\n(3 in, 4 out)\n'],
  ['nothing that was streamed', [], 'one\n\ntwo', 'one\n\ntwo\n'],
  ['no reply at all', [], '', ''],
])('an answer is printed once when the reply has %s', (_what, streamed, reply, expected) => {
  expect(shown(streamed, reply)).toBe(expected)
})
