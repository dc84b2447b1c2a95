// The compiled part of the scan can be made again: the same compiler makes the same bytes of the sources.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compile } from '../../scripts/scan-wasm.ts'

test('npm run wasm makes src/discovery/scan.wasm', () => {
  expect(compile().equals(readFileSync('src/discovery/scan.wasm'))).toBe(true)
})
