// docs/compose.yaml, checked where no engine runs: it is YAML, has only what a compose file may have, and names nothing that
// is not there.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '..')
const text = readFileSync(join(root, 'docs/compose.yaml'), 'utf8')

interface Service {
  image: string
  hostname?: string
  command?: string[]
  environment?: Record<string, string>
  volumes?: string[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test: string[] }
  [field: string]: unknown
}

const file = parse(text, { merge: true, strict: true, uniqueKeys: true }) as {
  services: Record<string, Service>
  volumes: Record<string, null>
}

/** What the compose specification allows, as far as it is used here. */
const allowed = new Set(
  'image hostname working_dir command environment volumes depends_on healthcheck stop_grace_period restart'.split(
    ' ',
  ),
)

test('the compose file starts PostgreSQL and two Rockpools, each with a state of its own', () => {
  expect(Object.keys(file)).toEqual(['services', 'volumes'])
  expect(Object.keys(file.services)).toEqual(['database', 'rockpool-1', 'rockpool-2'])
  for (const [name, service] of Object.entries(file.services)) {
    expect(
      Object.keys(service).filter((key) => !allowed.has(key)),
      name,
    ).toEqual([])
    expect(service.image).toMatch(/^[\w./-]+:[\w.-]+$/)
  }
  const states = ['rockpool-1', 'rockpool-2'].map((name) => {
    const { volumes = [], hostname } = file.services[name]!
    expect(hostname).toBe(name)
    return volumes.find((volume) => volume.endsWith(':/state'))
  })
  expect(new Set(states).size).toBe(2)
})

test('everything that the compose file names is there: volumes, services, variables, the program', () => {
  for (const service of Object.values(file.services)) {
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':')
      expect(source.startsWith('.') || source in file.volumes, volume).toBe(true)
    }
    for (const [needed, { condition }] of Object.entries(service.depends_on ?? {})) {
      expect(file.services).toHaveProperty(needed)
      if (condition === 'service_healthy') expect(file.services[needed]!.healthcheck?.test).toBeDefined()
    }
  }
  const { command = [], environment = {} } = file.services['rockpool-1']!
  expect(command.slice(0, 3)).toEqual(['node', 'bin/rockpool.js', 'up'])
  expect(existsSync(join(root, command[1]!))).toBe(true)
  expect(new URL(environment['ROCKPOOL_DATABASE_URL']!.replace(/\$\{.*?\}/g, 'x')).hostname).toBe('database')
  // ${NAME}, ${NAME:-otherwise}, ${NAME:?why it is needed}: a lone dollar would end the engine.
  for (const [, after] of text.matchAll(/\$(.?)/g)) expect(after).toBe('{')
  for (const [whole] of text.matchAll(/\$\{[^}]*\}?/g)) expect(whole).toMatch(/^\$\{[A-Z_]+(:[-?][^}]*)?\}$/)
})
