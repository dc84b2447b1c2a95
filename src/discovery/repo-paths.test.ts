import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isInside, repoPathToSlug } from './repo-paths.ts'

test.each([
  ['/home/fonz/Projects/openclaw', '-home-fonz-Projects-openclaw'],
  ['/x/my.app_v2', '-x-my-app-v2'],
  ['/x/with space', '-x-with-space'],
  ['/x/.hidden/.dot', '-x--hidden--dot'],
  ['/x/ünïcödé', '-x--n-c-d-'],
  ['/x/😀', '-x---'],
])('%s has the folder %s (3.9 no. 6)', (path, slug) => {
  expect(repoPathToSlug(path)).toBe(slug)
})

test('a long path is cut and gets a hash of the whole', () => {
  const slug = repoPathToSlug(`/x/${'d'.repeat(300)}`)
  expect(slug).toMatch(/^-x-d{197}-[0-9a-z]+$/)
  expect(slug).not.toBe(repoPathToSlug(`/x/${'d'.repeat(301)}`))
})

test('links are resolved first', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-slug-'))
  mkdirSync(join(folder, 'real'))
  symlinkSync(join(folder, 'real'), join(folder, 'link'))
  expect(repoPathToSlug(join(folder, 'link'))).toBe(repoPathToSlug(join(realpathSync(folder), 'real')))
  rmSync(folder, { recursive: true })
})

test('inside is by folders, not by letters', () => {
  expect([isInside('/a/b', '/a/b'), isInside('/a/b/c', '/a/b'), isInside('/a/bc', '/a/b')]).toEqual([
    true,
    true,
    false,
  ])
})
