// `rockpool openclaw install|status|remove` with the real OpenClaw, oldest and newest supported version, without a network.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { OpenClawVersion } from '../support/openclaw-api.ts'
import { openClawProgram } from '../support/openclaw-program.ts'
import { makeHome } from '../support/program.ts'
import type { Home, Ran } from '../support/program.ts'

let home: Home | undefined
afterEach(() => home?.remove())

describe.each<OpenClawVersion>(['2026.1.30', '2026.9.6'])('in OpenClaw %s', (version) => {
  test(
    'the plugin is put in, updated, repaired and taken out without a trace',
    { timeout: 1_500_000 },
    async (ctx) => {
      const peer = openClawProgram(version)
      const program = 'path' in peer ? peer.path : ctx.skip(peer.missing)
      const here = (home = makeHome())
      const stateDir = join(here.dir, '.openclaw')
      const file = (...names: string[]): string => join(stateDir, ...names)
      const config = (): Record<string, Record<string, Record<string, unknown>>> =>
        JSON.parse(readFileSync(file('openclaw.json'), 'utf8'))
      mkdirSync(stateDir)
      writeFileSync(file('openclaw.json'), '{}')
      const run = (verb: string, ...more: string[]): Promise<Ran> =>
        here.run(['openclaw', verb, '--openclaw', program, '--json', ...more])

      expect((await run('install')).json()).toMatchObject({
        error: { code: 'usage', hint: expect.stringContaining('--yes') },
      })
      expect(existsSync(file('rockpool-plugin.json'))).toBe(false)
      expect((await run('install', '--yes')).json()).toMatchObject({ version })
      const first = readFileSync(file('rockpool-plugin.json'), 'utf8')
      expect(statSync(file('rockpool-plugin.json')).mode & 0o777).toBe(0o600)
      expect(config()['plugins']!['entries']).toMatchObject({
        'rockpool-openclaw': {
          enabled: true,
          config: { command: expect.arrayContaining([process.execPath]) },
        },
      })
      expect((await run('status')).json()).toMatchObject({
        version,
        installed: expect.any(String),
        connected: false,
      })

      // A person deleted the folder: in 2026.1.30 every command of OpenClaw fails then.
      rmSync(file('extensions', 'rockpool-openclaw'), { recursive: true })
      expect((await run('install', '--yes')).json()).toMatchObject({ version })
      expect(existsSync(file('extensions', 'rockpool-openclaw', 'openclaw.plugin.json'))).toBe(true)
      expect(readFileSync(file('rockpool-plugin.json'), 'utf8')).not.toBe(first)

      expect((await run('remove', '--yes')).json()).toMatchObject({ version })
      for (const gone of ['rockpool-plugin.json', 'extensions/rockpool-openclaw'])
        expect(existsSync(file(gone))).toBe(false)
      expect(JSON.stringify(config()['plugins'] ?? {})).not.toContain('rockpool')
      expect((await here.run(['tokens', 'list', '--json'])).json()['tokens']).toEqual([])
    },
  )
})
