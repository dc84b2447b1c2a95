import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { findPlugin, installPlugin, isOutdated, pluginIn, removePlugin } from './install.ts'
import type { PluginSource } from './install.ts'

let configDir: string
let source: PluginSource

beforeEach(() => {
  const root = mkdtempSync(join(tmpdir(), 'rockpool-plugin-'))
  configDir = join(root, 'claude')
  const folder = join(root, 'shipped')
  mkdirSync(join(folder, '.claude-plugin'), { recursive: true })
  mkdirSync(configDir)
  writeFileSync(join(configDir, 'settings.json'), '{ "cleanupPeriodDays": 30 }')
  writeFileSync(join(folder, '.claude-plugin', 'plugin.json'), '{"version":"1.0.0"}')
  writeFileSync(join(folder, 'server.mjs'), 'one')
  source = { folder, stateDir: join(root, "it's state"), node: '/usr/bin/node' }
})

const filesIn = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' })

test('installing adds one folder, and removing leaves everything as it was', () => {
  const before = filesIn(configDir)
  installPlugin(configDir, source)
  expect(findPlugin(configDir)).toEqual({
    folder: pluginIn(configDir),
    version: '1.0.0',
    stateDir: source.stateDir,
  })
  expect(readFileSync(join(configDir, 'settings.json'), 'utf8')).toBe('{ "cleanupPeriodDays": 30 }')
  // Claude Code makes a folder for the data of each plugin.
  mkdirSync(join(configDir, 'plugins', 'data', 'rockpool-skills-dir'), { recursive: true })
  installPlugin(configDir, source)
  removePlugin(configDir)
  const after = filesIn(configDir)
  expect(new Set(after)).toEqual(new Set([...before, 'plugins', 'plugins/data']))
})

test('a folder of skills that was there stays, also when it is empty', () => {
  mkdirSync(join(configDir, 'skills'))
  installPlugin(configDir, source)
  removePlugin(configDir)
  expect(existsSync(join(configDir, 'skills'))).toBe(true)
})

test('another version of a file, or another Node, makes the installed plugin outdated', () => {
  installPlugin(configDir, source)
  expect(isOutdated(findPlugin(configDir)!, source)).toBe(false)
  expect(isOutdated(findPlugin(configDir)!, { ...source, node: '/opt/node' })).toBe(true)
  writeFileSync(join(source.folder, 'server.mjs'), 'two')
  expect(isOutdated(findPlugin(configDir)!, source)).toBe(true)
})

test('a skill of the same name that is not ours is never replaced or removed', () => {
  mkdirSync(pluginIn(configDir), { recursive: true })
  writeFileSync(join(pluginIn(configDir), 'SKILL.md'), 'mine')
  expect(() => installPlugin(configDir, source)).toThrow("is not Rockpool's plugin")
  expect(() => removePlugin(configDir)).toThrow("is not Rockpool's plugin")
  expect(readdirSync(pluginIn(configDir))).toEqual(['SKILL.md'])
})
