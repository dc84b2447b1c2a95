// Reads what the plugin reports about OpenClaw's agents. OpenClaw's configuration belongs to OpenClaw, so nothing in it is an
// error here: what Rockpool does not know or must not use is left out, and named in the answer.
import { isAbsolute } from 'node:path'
import { isInside, realPath } from '../../discovery/repo-paths.ts'
import { openclawPrefix } from '../../domain/agent.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import { claudeCodeSettings } from '../../domain/openclaw-contract.ts'
import type { ClaudeCodeSettings, OpenClawAgent } from '../../domain/openclaw-contract.ts'
import { checkAgentId } from '../../store/paths.ts'
import type { App } from '../app.ts'

interface ReportedAgent {
  id: string
  workspace?: string
  claudeCode?: Record<string, unknown>
}

export function readReport(
  app: Pick<App, 'paths'>,
  reported: ReportedAgent[],
): { agents: OpenClawAgent[]; ignored: string[] } {
  const ignored: string[] = []
  const agents = reported.flatMap(({ id, workspace, claudeCode = {} }) => {
    const ignore = (what: string, why: string): void => void ignored.push(`${id}: ${what}: ${why}`)
    try {
      checkAgentId(`${openclawPrefix}${id}`)
    } catch (error) {
      ignore('agent', asRockpoolError(error).message)
      return []
    }
    const isOpen = (path: string, what: string): boolean => {
      const problem = problemOf(app, path)
      if (problem !== undefined) ignore(what, problem)
      return problem === undefined
    }
    return {
      id,
      workspace: workspace !== undefined && isOpen(workspace, 'workspace') ? workspace : undefined,
      claudeCode: withOpenPaths(readSettings(claudeCode, ignore), isOpen),
    }
  })
  return { agents, ignored }
}

/** Each setting alone, so that one that does not fit leaves the others as they are. */
function readSettings(
  settings: Record<string, unknown>,
  ignore: (what: string, why: string) => void,
): ClaudeCodeSettings {
  const known = Object.entries(settings).flatMap(([key, value]) => {
    if (!Object.hasOwn(claudeCodeSettings.shape, key)) {
      ignore(`claudeCode.${key}`, 'Rockpool does not know this setting.')
      return []
    }
    const { error } = claudeCodeSettings.safeParse({ [key]: value })
    if (error) ignore(`claudeCode.${key}`, error.issues[0]!.message)
    return error ? [] : [[key, value]]
  })
  return claudeCodeSettings.parse(Object.fromEntries(known))
}

function withOpenPaths(
  settings: ClaudeCodeSettings,
  isOpen: (path: string, what: string) => boolean,
): ClaudeCodeSettings {
  const { repos = {}, defaultWorkdir } = settings
  const isUsable = defaultWorkdir !== undefined && isOpen(defaultWorkdir, 'claudeCode.defaultWorkdir')
  return {
    ...settings,
    repos: Object.fromEntries(
      Object.entries(repos).filter(([name, path]) => isOpen(path, `claudeCode.repos.${name}`)),
    ),
    defaultWorkdir: isUsable ? defaultWorkdir : undefined,
  }
}

/** A session that works around or in Rockpool's own files could read its tokens. */
function problemOf({ paths }: Pick<App, 'paths'>, path: string): string | undefined {
  if (!isAbsolute(path)) return `${path} is not an absolute path.`
  const [folder, state] = [realPath(path), realPath(paths.root)]
  const meets = isInside(folder, state) || isInside(state, folder)
  return meets ? `${path} contains the state directory of Rockpool, or is in it.` : undefined
}
