import { expect, test } from 'vitest'
import type { Machine } from './machine.ts'
import { isSameRepository, normalizedOrigin, placeFor, repositoryAt } from './machine.ts'

const webapp = { path: '/home/ada/webapp', origin: 'github.com/ada/webapp' }
const laptop: Machine = {
  name: 'laptop',
  labels: [],
  isHere: true,
  running: 0,
  repositories: [webapp, { path: '/home/ada/notes', rootCommit: 'c0ffee' }],
}
const office: Machine = {
  name: 'office',
  labels: ['gpu'],
  isHere: false,
  running: 2,
  repositories: [
    { path: '/srv/webapp', name: 'shop', origin: 'github.com/ada/webapp' },
    { path: '/srv/model', origin: 'github.com/ada/model' },
  ],
}
const attic: Machine = { ...office, name: 'attic', labels: ['gpu'], running: 1 }

test.each([
  ['https://github.com/Ada/webapp.git', 'github.com/Ada/webapp'],
  ['https://ada:secret@GitHub.com/Ada/webapp', 'github.com/Ada/webapp'],
  ['git@github.com:Ada/webapp.git', 'github.com/Ada/webapp'],
  ['ssh://git@github.com:22/Ada/webapp.git/', 'github.com/Ada/webapp'],
  ['/srv/git/webapp.git', undefined],
  ['../webapp', undefined],
  ['file:///srv/webapp', undefined],
])('the origin %s is %s', (url, origin) => {
  expect(normalizedOrigin(url)).toBe(origin)
})

test('two clones are the same by their origin, and by their first commit where one has no origin', () => {
  const [fork, copy] = [
    { path: '/a', origin: 'github.com/eve/webapp', rootCommit: 'c0ffee' },
    { path: '/b', rootCommit: 'c0ffee' },
  ]
  expect(isSameRepository(webapp, { path: '/x', origin: webapp.origin })).toBe(true)
  expect(isSameRepository({ ...webapp, rootCommit: 'c0ffee' }, fork)).toBe(false)
  expect(isSameRepository(fork, copy)).toBe(true)
  expect(isSameRepository({ path: '/a' }, { path: '/a' })).toBe(false)
})

test('a repository is found from a folder within it, the innermost first', () => {
  const outer = { path: '/srv' }
  expect(repositoryAt([outer, webapp], '/home/ada/webapp/src/a')).toEqual({
    repository: webapp,
    within: 'src/a',
  })
  expect(repositoryAt([webapp], '/home/ada/webapp-2')).toBeUndefined()
})

test('what is here stays here; what is not goes to the machine that has it and does least', () => {
  const machines = [laptop, office, attic]
  expect(placeFor(machines, { workdir: webapp.path })).toMatchObject({ machine: { name: 'laptop' } })
  expect(placeFor(machines, { workdir: '/srv/model/src' })).toMatchObject({
    machine: { name: 'attic' },
    workdir: '/srv/model/src',
  })
  expect(placeFor([laptop, office], { workdir: 'shop' })).toMatchObject({ workdir: '/srv/webapp' })
  expect(placeFor([laptop, office], { workdir: 'https://github.com/ada/model' })).toMatchObject({
    workdir: '/srv/model',
  })
})

test('a machine that is asked for by name or label gets it at its own path', () => {
  const wanted = { workdir: `${webapp.path}/src`, repository: webapp, within: 'src' }
  const machines = [laptop, office]
  expect(placeFor(machines, { ...wanted, machine: 'office' }).workdir).toBe('/srv/webapp/src')
  expect(placeFor(machines, { ...wanted, machine: 'gpu' }).machine.name).toBe('office')
  expect(placeFor(machines, { ...wanted, machine: 'laptop' }).workdir).toBe(`${webapp.path}/src`)
})

test('who is asked in vain says which machines there are and what they have', () => {
  const machines = [laptop, office]
  expect(() => placeFor(machines, { workdir: '/x', machine: 'moon' })).toThrow(
    expect.objectContaining({ code: 'not-found', hint: 'There are: laptop, office (gpu).' }),
  )
  expect(() => placeFor(machines, { workdir: '/nowhere' })).toThrow(
    'No machine has the repository /nowhere: laptop has /home/ada/webapp, /home/ada/notes; office (gpu) has /srv/webapp, /srv/model.',
  )
  const notes = laptop.repositories[1]!
  expect(() => placeFor(machines, { workdir: notes.path, repository: notes, machine: 'office' })).toThrow(
    'office does not have the repository /home/ada/notes',
  )
})

test('a machine that is away gets nothing, and is named', () => {
  const gone = { ...office, awaySince: Date.UTC(2026, 0, 1) }
  expect(() => placeFor([laptop, gone], { workdir: '/srv/model' })).toThrow(
    expect.objectContaining({
      code: 'unavailable',
      message: '/srv/model is on office, which is away since 2026-01-01T00:00:00.000Z.',
    }),
  )
  expect(placeFor([laptop, gone, attic], { workdir: '/srv/model' }).machine.name).toBe('attic')
})
