import { expect, test } from 'vitest'
import { jsonText } from './json.ts'

test.each([
  ['a\ud83d', 'a\ufffd'],
  ['\ude00b', '\ufffdb'],
  ['\ud83d\ud83d\ud83d', '\ufffd\ufffd\ufffd'],
  ['🙂 \ud83d', '🙂 \ufffd'],
  ['said: \\ud83d', 'said: \\ud83d'],
  ['\\\ud83d', '\\\ufffd'],
])('half of a character pair in %j is replaced, and nothing else', (said, written) => {
  expect(JSON.parse(jsonText({ [said]: said }))).toEqual({ [written]: written })
})
