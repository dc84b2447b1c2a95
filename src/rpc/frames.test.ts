import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RockpoolError, errorKinds } from '../domain/errors.ts'
import type { ErrorCode } from '../domain/errors.ts'
import { fromRpcError, isRequest, parseJson, rpcError } from './frames.ts'

test('no text makes the parser throw anything but a typed error', () => {
  const texts = fc.oneof(
    fc.string(),
    fc.json(),
    fc.string({ unit: fc.constantFrom('{', '[', '"', ':', ',', '1', '\\', '}') }),
  )
  fc.assert(
    fc.property(texts, (text) => {
      try {
        isRequest(parseJson(text))
      } catch (error) {
        expect(error).toBeInstanceOf(RockpoolError)
      }
    }),
    { numRuns: 20_000 },
  )
})

test('depth, keys and __proto__ are limited, however they are written', () => {
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
  expect(() => parseJson(nested(64))).not.toThrow()
  expect(() => parseJson(nested(66))).toThrow(/nested/)
  expect(() => parseJson(nested(5000))).toThrow(/nested/)
  expect(() =>
    parseJson(JSON.stringify(Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, 1])))),
  ).toThrow(/keys/)
  for (const text of ['{"__proto__":{}}', '{"a":{"__proto__":1}}', '{"\\u005f_proto__":{}}']) {
    expect(() => parseJson(text)).toThrow(/__proto__/)
  }
})

test('every error comes out of the wire as it went in', () => {
  for (const code of Object.keys(errorKinds) as ErrorCode[]) {
    const error = new RockpoolError(code, `About ${code}.`, { hint: 'Do this.' })
    const back = fromRpcError(JSON.parse(JSON.stringify(rpcError(error))) as ReturnType<typeof rpcError>)
    expect(back.report()).toEqual(error.report())
  }
})
