// Rules of the source tree that no other check knows: documents name files that exist, and file names stay distinct.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { isOfSources } from '../scripts/scan-wasm.ts'

const sources = globSync('src/**/*.ts', { exclude: ['**/*.test.ts'] })

test('every file and folder that a document names exists', () => {
  const missing: string[] = []
  let named = 0
  for (const page of ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md')]) {
    for (const path of pathsIn(readFileSync(page, 'utf8'))) {
      named += 1
      if (!isThere(path)) missing.push(`${page}: ${path}`)
    }
  }
  expect(missing).toEqual([])
  expect(named).toBeGreaterThan(100)
})

test('every file that a comment names exists', () => {
  const missing: string[] = []
  for (const file of sources) {
    const comments = readFileSync(file, 'utf8').match(/\/\/.*|\/\*\*[\s\S]*?\*\//g) ?? []
    for (const path of comments.flatMap(pathsIn)) if (!isThere(path)) missing.push(`${file}: ${path}`)
  }
  expect(missing).toEqual([])
})

test('no file name occurs in more than two folders', () => {
  const folders = Map.groupBy(sources, (file) => basename(file))
  expect([...folders].filter(([, files]) => files.length > 2).map(([name]) => name)).toEqual([])
})

test('no module of test/support registers a hook when it is imported', () => {
  // The files of a worker share what they import: only the first of them would have the hook.
  const hook = /^(?:before|after)(?:All|Each)\(/m
  const modules = globSync('test/support/*.ts').filter((file) => hook.test(readFileSync(file, 'utf8')))
  expect(modules).toEqual([])
})

test('the compiled part of the scan was made from the sources in wasm/', () => {
  const isCurrent = isOfSources(readFileSync('src/discovery/scan.wasm'))
  expect(isCurrent, 'Run `npm run wasm` after a change in wasm/.').toBe(true)
})

/** Paths below the folders of the project, and source files named from `src/` on: `flow/turn.ts`. */
function pathsIn(text: string): string[] {
  const whole = text.matchAll(/(?<![\w/.-])(?:src|test|bench|scripts|docs|wasm)\/[\w*./-]*\w/g)
  const fromSource = text.matchAll(/(?<![\w/.-])[a-z-]+\/[\w*/-]+\.ts\b/g)
  const alone = text.matchAll(/(?<=`)[a-z-]+\.ts(?=`)/g)
  return [...whole, ...fromSource, ...alone].map(([path]) => path)
}

function isThere(path: string): boolean {
  if (!path.includes('/')) return globSync(`{src,test,bench,scripts}/**/${path}`).length > 0
  const places = [path, `src/${path}`]
  return places.some((place) => (place.includes('*') ? globSync(place).length > 0 : existsSync(place)))
}
