import { expect, test } from 'vitest'
import { parseSessionLabel } from './label.ts'

test.each(['home', 'Ops 🇩🇪', 'family 👩‍👩‍👧', '❤️ list', 'agents: notes', 'mainland'])(
  '%j is a label',
  (label) => {
    expect(parseSessionLabel(` ${label} `)).toEqual({ ok: true, label })
  },
)

test.each(['soft\u00adhyphen', '\u3164', 'tag\u{e0041}', 'turn\u202e', 'zero\u200bwidth', 'bell\u0007'])(
  '%j contains invisible characters',
  (label) => {
    expect(parseSessionLabel(label)).toEqual({ ok: false, error: expect.stringContaining('invisible') })
  },
)

test('what the main session is called in the configuration would be taken for a key, too', () => {
  expect(parseSessionLabel('Home', { mainKey: 'home' })).toMatchObject({ ok: false })
  expect(parseSessionLabel('Homer', { mainKey: 'home' })).toMatchObject({ ok: true })
})

test.each(['agent:main:main', 'Agent:x:y', 'main', 'global', 'unknown'])(
  '%j would be taken for a key',
  (label) => {
    expect(parseSessionLabel(label)).toEqual({
      ok: false,
      error: expect.stringContaining('key of a session'),
    })
  },
)
