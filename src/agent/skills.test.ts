import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SessionEntry } from '../domain/session.ts'
import { skillSnapshot } from './skills.ts'

let workspaceDir: string
beforeEach(() => void (workspaceDir = mkdtempSync(join(tmpdir(), 'rockpool-skills-'))))
afterEach(() => rmSync(workspaceDir, { recursive: true }))

function write(name: string, text: string): void {
  mkdirSync(join(workspaceDir, 'skills', name), { recursive: true })
  writeFileSync(join(workspaceDir, 'skills', name, 'SKILL.md'), text)
}
const entry: SessionEntry = { sessionId: 's', updatedAt: 1 }
const ensure = (sessionEntry: SessionEntry, isFirstTurnInSession = false, skillFilter?: string[]) =>
  skillSnapshot({ sessionEntry, isFirstTurnInSession, workspaceDir, skillFilter })

test('the first turn takes a snapshot of the skills, with names, descriptions and where they are', () => {
  write(
    'weather',
    '---\nname: weather\ndescription: "Tells the weather"\nmetadata: {"openclaw":{"primaryEnv":"WEATHER_KEY"}}\n---\n# How',
  )
  write('notes', '# Notes\n\nKeeps notes <tidy>.\n')
  const { sessionEntry, skillsSnapshot, systemSent } = ensure(entry, true)
  expect(skillsSnapshot!.skills).toEqual([{ name: 'notes' }, { name: 'weather', primaryEnv: 'WEATHER_KEY' }])
  expect(skillsSnapshot!.prompt).toContain('<description>Tells the weather</description>')
  expect(skillsSnapshot!.prompt).toContain('Keeps notes &lt;tidy&gt;.')
  expect(skillsSnapshot!.prompt).toContain(join(workspaceDir, 'skills', 'weather', 'SKILL.md'))
  expect(sessionEntry!.skillsSnapshot).toBe(skillsSnapshot)
  expect(systemSent).toBe(true)
})

test('nothing changes while the files do not; a change or a removal gives a later version', () => {
  write('a', '---\ndescription: one\n---')
  const first = ensure(entry, true).sessionEntry!
  expect(ensure(first).sessionEntry).toBe(first)
  write('b', '---\ndescription: two\n---')
  const second = ensure(first).sessionEntry!
  expect(second.skillsSnapshot!.skills.map((skill) => skill.name)).toEqual(['a', 'b'])
  expect(second.skillsSnapshot!.version).toBeGreaterThan(first.skillsSnapshot!.version!)
  rmSync(join(workspaceDir, 'skills', 'b'), { recursive: true })
  const third = ensure(second).sessionEntry!
  expect(third.skillsSnapshot!.version).toBeGreaterThan(second.skillsSnapshot!.version!)
})

test('only the skills that the agent is meant to have, and none without a folder', () => {
  expect(ensure(entry, true).skillsSnapshot).toMatchObject({ prompt: '', skills: [] })
  write('a', 'x')
  write('b', 'y')
  expect(ensure(entry, true, ['b']).skillsSnapshot!.skills).toEqual([{ name: 'b' }])
})
