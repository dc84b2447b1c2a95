// All agent programs, and where they are installed. Loads no runtime: commands ask here before they launch a session.
import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import type { OtherAgent, PermissionMode } from '../../domain/agent.ts'
import type { ProgramConfig } from '../../domain/config/coding-settings.ts'
import { attempt, RockpoolError } from '../../domain/errors.ts'
import type { Environment } from '../../store/config-file.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import type { AgentProgram } from './program.ts'

const programs: Record<OtherAgent, AgentProgram> = { codex, gemini, opencode, pi }

export function programOf(kind: OtherAgent): AgentProgram {
  return programs[kind]
}

/** The file to run: the configured one, or the command on the PATH. Throws with a remedy if there is none. */
export function findProgram(
  program: AgentProgram,
  { path }: Pick<ProgramConfig, 'path'>,
  { variables }: Pick<Environment, 'variables'>,
): string {
  const folders = (variables['PATH'] ?? '').split(delimiter).filter(isAbsolute)
  const places = path === undefined ? folders.map((folder) => join(folder, program.command)) : [path]
  const found = places.find(isExecutable)
  if (found !== undefined) return found
  const setting = `coding.programs.${program.kind}.path`
  const what =
    path === undefined
      ? `There is no ${program.command} on the PATH of Rockpool.`
      : `${setting} is ${path}, which cannot be run.`
  throw new RockpoolError('unavailable', `${program.name} is not installed. ${what}`, {
    hint: `Install it with \`npm install -g ${program.npmPackage}\`, or name its file in ${setting}.`,
  })
}

/** A notice for the person who launches a session: the actions that the program takes without asking. */
export function noticeOf(program: AgentProgram, mode: PermissionMode): string {
  return `${program.name} cannot ask here: it ${program.rights(mode)}. Messages wait until its turn is over.`
}

function isExecutable(path: string): boolean {
  return attempt(() => {
    accessSync(path, constants.X_OK)
    return true
  }, false)
}

/** The options of a launch, besides the task. */
export interface ProgramOptions {
  permissionMode: PermissionMode
  allowedTools: readonly string[]
  thinking?: string
  systemPrompt?: string
  fork?: boolean
}

/** Refuses what the program cannot do without a terminal, instead of ignoring it. */
export function checkProgramOptions({ name, kind, can }: AgentProgram, options: ProgramOptions): void {
  const { permissionMode, allowedTools, thinking, systemPrompt, fork } = options
  const refuse = (what: string, hint: string): never => {
    throw new RockpoolError('input-invalid', `${name} ${what}`, { hint })
  }
  if (permissionMode === 'bypassPermissions')
    refuse('is not run without its own protection.', 'Use acceptEdits, which lets it change files.')
  const closed = allowedTools.find((tool) => !can.tools.includes(tool))
  if (closed !== undefined)
    refuse(
      `has no tool ${JSON.stringify(closed)} that can be allowed here.`,
      can.tools.length === 0 ? 'Leave allowedTools out.' : `Allow one of these: ${can.tools.join(', ')}.`,
    )
  if (thinking !== undefined && !can.thinking.includes(thinking))
    refuse(
      `has no thinking level ${JSON.stringify(thinking)}.`,
      can.thinking.length === 0 ? 'Leave thinking out.' : `It has ${can.thinking.join(', ')}.`,
    )
  if (systemPrompt !== undefined && !can.systemPrompt)
    refuse('takes no text for its system prompt.', 'Write it into the task instead.')
  if (fork && !can.fork)
    refuse('cannot fork a session.', `Hand it over instead: \`rockpool cc handoff <id> --to ${kind}\`.`)
}
