// The skills of an agent: folders in its workspace with instructions. The prompt names them; Claude reads a skill's file when it
// needs it. A session stores a snapshot, taken on its first turn and again when the files change.
import { join } from 'node:path'
import { attempt } from '../domain/errors.ts'
import { plainLine } from '../domain/text.ts'
import type { SessionEntry, SessionSkillSnapshot } from '../domain/session.ts'
import { modifiedAt, namesIn, readForeign } from '../store/disk/foreign-file.ts'

interface Skill {
  name: string
  description: string
  file: string
  /** The environment variable that the skill needs. */
  primaryEnv?: string
}

export interface SkillSnapshotQuestion {
  sessionEntry?: SessionEntry
  isFirstTurnInSession: boolean
  workspaceDir: string
  /** Only these, by name; all when absent. */
  skillFilter?: readonly string[]
}

export interface SkillSnapshotAnswer {
  sessionEntry?: SessionEntry
  skillsSnapshot?: SessionSkillSnapshot
  systemSent: boolean
}

const maxSkills = 100
const maxDescription = 1_024

/** The current skills of a session. The returned entry differs only if the snapshot does. */
export function skillSnapshot(question: SkillSnapshotQuestion): SkillSnapshotAnswer {
  const { sessionEntry, isFirstTurnInSession, workspaceDir, skillFilter } = question
  const before = sessionEntry?.skillsSnapshot
  const skills = readSkills(workspaceDir).filter((skill) => skillFilter?.includes(skill.name) ?? true)
  const snapshot = snapshotOf(skills, before, workspaceDir)
  const isNew = isFirstTurnInSession || snapshot.version !== before?.version
  if (!sessionEntry) return { skillsSnapshot: snapshot, systemSent: true }
  const entry = isNew ? { ...sessionEntry, skillsSnapshot: snapshot, systemSent: true } : sessionEntry
  return { sessionEntry: entry, skillsSnapshot: snapshot, systemSent: entry.systemSent ?? false }
}

function snapshotOf(
  skills: Skill[],
  before: SessionSkillSnapshot | undefined,
  workspaceDir: string,
): SessionSkillSnapshot {
  const prompt = renderSkills(skills)
  if (before?.prompt === prompt && before.version !== undefined) return before
  return {
    prompt,
    skills: skills.map(({ name, primaryEnv }) => ({ name, primaryEnv })),
    resolvedSkills: skills,
    version: Math.max((before?.version ?? 0) + 1, newestChange(workspaceDir)),
  }
}

/** All skills of a workspace, sorted by name. A folder without a readable SKILL.md is not a skill. */
export function readSkills(workspaceDir: string): Skill[] {
  const folder = join(workspaceDir, 'skills')
  const skills = namesIn(folder).flatMap((name) => readSkill(name, join(folder, name, 'SKILL.md')))
  return skills.sort((a, b) => a.name.localeCompare(b.name)).slice(0, maxSkills)
}

function readSkill(folderName: string, file: string): Skill[] {
  // Fails if it is not the folder of a skill.
  const text = attempt(() => readForeign(file, 1_048_576).toString('utf8'))
  if (text === undefined) return []
  const head = readHead(text)
  const name = plainLine(head.get('name') ?? folderName, 64)
  const description = plainLine(head.get('description') ?? firstParagraph(text), maxDescription)
  const primaryEnv = /"?primaryEnv"?\s*:\s*"?([A-Z][A-Z0-9_]*)/.exec(text.slice(0, 4_000))?.[1]
  return [{ name, description, file, primaryEnv }]
}

/** The `key: value` lines between the first two `---`. */
function readHead(text: string): Map<string, string> {
  const block = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1] ?? ''
  const lines = block.split('\n').flatMap((line) => {
    const [, key, value] = /^([\w-]+):\s*(.*)$/.exec(line.trimEnd()) ?? []
    return key && value ? [[key, value.replace(/^["']|["']$/g, '')] as const] : []
  })
  return new Map(lines)
}

function firstParagraph(text: string): string {
  const body = text.replace(/^---\r?\n[\s\S]*?\r?\n---/, '')
  return body.split(/\n\s*\n/).find((part) => part.trim() && !part.trim().startsWith('#')) ?? ''
}

function renderSkills(skills: Skill[]): string {
  if (skills.length === 0) return ''
  const entries = skills.map(
    ({ name, description, file }) =>
      `  <skill>\n    <name>${escape(name)}</name>\n    <description>${escape(description)}</description>\n    <location>${escape(file)}</location>\n  </skill>`,
  )
  return [
    'These skills say how certain things are done here. When one fits the task, read its file first and follow it.',
    '<available_skills>',
    ...entries,
    '</available_skills>',
  ].join('\n')
}

/** The time of the last change; removing a skill changes the folder. */
function newestChange(workspaceDir: string): number {
  const folder = join(workspaceDir, 'skills')
  const paths = [
    folder,
    ...namesIn(folder).flatMap((name) => [join(folder, name), join(folder, name, 'SKILL.md')]),
  ]
  return Math.floor(Math.max(...paths.map(modifiedAt)))
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
