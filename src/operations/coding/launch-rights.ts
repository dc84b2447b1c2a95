// The rights that an agent may give to a session that it starts: no more than the agent has itself. The agent's call needs no
// approval, so more rights would run without one.
import { existsSync } from 'node:fs'
import { gitIn } from '../../discovery/git.ts'
import { foreignGitFolders } from '../../discovery/git-folders.ts'
import { realPath } from '../../discovery/repo-paths.ts'
import { formatOriginChannel, openclawChannel, parseOriginChannel } from '../../domain/address.ts'
import { agentKinds, type AgentKind, type PermissionMode } from '../../domain/agent.ts'
import { parseOpenClawOrigin } from '../../domain/openclaw-contract.ts'
import { allowedToolsOf } from '../../domain/config/read-settings.ts'
import { defaultAgentId } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Giver } from '../../domain/giver.ts'
import { isSameOrigin } from '../../coding/session/origin.ts'
import {
  checkProgramOptions,
  findProgram,
  programOf,
  type ProgramOptions,
} from '../../agent/programs/programs.ts'
import { mayCost, mayUseDirectory, type LaunchLimits } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import type { Caller, CommandPlace } from '../operation.ts'
import { giverOf } from '../perform-operation.ts'
import { isChatOfAgent } from '../turns/agent-chats.ts'
import { workspaceOf } from '../../store/agents.ts'
import { loadConfig } from '../../store/config-file.ts'
import { makeFolders } from '../../store/disk/atomic-file.ts'
import { openclawAgentIds, openclawAgentOf } from '../../store/openclaw/openclaw-report.ts'

interface Rights {
  agentKind?: AgentKind
  permissionMode?: PermissionMode
  allowedTools?: string[]
  originChannel?: string
  maxBudgetUsd?: number
}

/** Modes in which a session asks for everything that was not allowed beforehand, or does without it. */
const askingModes: readonly PermissionMode[] = ['default', 'plan', 'dontAsk']

/** Refuses what an agent may not give. A caller that is not bound to an agent may give everything, but what a session does without
 *  asking only if the caller may also approve. */
export async function refuseWider(app: App, asked: Rights, caller: Caller): Promise<void> {
  const { originChannel, maxBudgetUsd } = asked
  const giver = giverOf(caller)
  const unasked = unaskedRight(app, asked, giver)
  if (unasked) throw tooWide(unasked.right, unasked.setting)
  refuseOtherPrograms(asked.agentKind ?? 'claude', giver)
  if (caller.agentId === undefined) return
  const limits = launchLimitsOf(app, caller.agentId)
  if (!mayCost(maxBudgetUsd, limits))
    throw tooWide(
      `budget of $${maxBudgetUsd}; $${limits.maxBudgetUsd} is the most`,
      'coding.defaultBudgetUsd',
    )
  if (originChannel !== undefined && !(await isOwnChat(app, originChannel, caller)))
    throw new RockpoolError('refused', 'An agent can announce its sessions only in its own chats.', {
      hint: 'Leave origin_channel out.',
    })
}

interface UnaskedRight {
  right: string
  setting: string
}

/** What a session would do without asking beyond the configuration, if this giver may not allow it. A coding session that writes
 *  to another one has its own rights, too. */
export function unaskedRight(
  { config, storage }: App,
  asked: Pick<Rights, 'permissionMode' | 'allowedTools'>,
  { agentId, mayApprove, codingId }: Giver,
): UnaskedRight | undefined {
  if (mayApprove) return undefined
  const { permissionMode = 'default', allowedTools = [] } = asked
  const writer = codingId === undefined ? undefined : storage.coding.get(codingId)?.request
  if (permissionMode !== writer?.permissionMode && !mayUseMode(permissionMode, config.coding))
    return { right: `permission mode ${permissionMode}`, setting: 'coding.permissionMode' }
  const configured = allowedToolsOf(config.agents, agentId ?? defaultAgentId(config))
  const own = [...configured, ...(writer?.allowedTools ?? [])]
  const more = allowedTools.find((tool) => !own.includes(tool))
  return more === undefined
    ? undefined
    : { right: `use of ${more} without asking`, setting: 'agents.defaults.allowedTools' }
}

function mayUseMode(mode: PermissionMode, { permissionMode }: App['config']['coding']): boolean {
  return [...askingModes, permissionMode].includes(mode)
}

/** The defaults of a session of this agent. OpenClaw's configuration can name repositories of its own agents; apart from that it
 *  narrows what Rockpool's configuration allows. */
export function launchDefaults(app: App, agentId: string, kind: AgentKind = 'claude') {
  const { coding } = app.config
  const own = openclawAgentOf(app.paths, agentId)?.claudeCode ?? {}
  const { permissionMode = coding.permissionMode, maxBudgetUsd = Infinity } = own
  return {
    model: kind === 'claude' ? (own.model ?? coding.defaultModel) : coding.programs[kind]?.model,
    budgetUsd: Math.min(maxBudgetUsd, coding.defaultBudgetUsd),
    permissionMode: mayUseMode(permissionMode, coding) ? permissionMode : coding.permissionMode,
    repos: { ...coding.repos, ...own.repos },
    ownWorkdir: own.defaultWorkdir,
    workdir: coding.defaultWorkdir,
  }
}

/** The named directory, by its path or its name in the configuration; else the existing workspace of the calling agent, the
 *  configured directory, a new workspace, or for a person the current directory. */
export function workdirOf(app: App, named: string | undefined, caller: Caller): string {
  const { repos, workdir, ownWorkdir } = launchDefaults(app, caller.agentId ?? defaultAgentId(app.config))
  if (named !== undefined) return Object.hasOwn(repos, named) ? repos[named]! : named
  const workspace = caller.agentId === undefined ? undefined : workspaceOf(app, caller.agentId)
  const own = [ownWorkdir, workspace].find((folder) => folder !== undefined && existsSync(folder))
  const configured = own ?? workdir
  if (configured !== undefined) return configured
  if (workspace === undefined) return process.cwd()
  makeFolders(workspace)
  return workspace
}

/** Other programs ask no person and read what the user can read, also Rockpool's own files: only a person who may approve starts
 *  them. */
export function refuseOtherPrograms(kind: AgentKind, { mayApprove }: Giver): void {
  if (kind === 'claude' || mayApprove) return
  throw new RockpoolError('refused', `This caller cannot start sessions of ${programOf(kind).name}.`, {
    hint: 'Leave agentKind out: Claude Code asks before it does what was not allowed. A person can start it.',
  })
}

/** Refuses a session of a program that is not installed here, or that does not support the options. */
export function checkProgram(
  app: App,
  kind: AgentKind,
  asked: Omit<ProgramOptions, 'allowedTools' | 'fork'> & {
    allowedTools?: string[]
    trim?: string
    atMessage?: string
  },
  fork: boolean,
): void {
  if (kind === 'claude') return
  const program = programOf(kind)
  findProgram(program, app.config.coding.programs[kind] ?? {}, app.environment)
  if (asked.trim !== undefined || asked.atMessage !== undefined)
    throw new RockpoolError('input-invalid', `trim and atMessage are for sessions of Claude Code.`, {
      hint: 'Leave them out.',
    })
  checkProgramOptions(program, { ...asked, allowedTools: asked.allowedTools ?? [], fork })
}

/** The same for a command, before there is a gateway. A session on another machine needs the program there. */
export async function refuseMissingProgram(
  { agentKind, machine }: Record<string, unknown>,
  { environment }: CommandPlace,
): Promise<void> {
  const kind = agentKinds.find((known) => known === agentKind) ?? 'claude'
  if (kind === 'claude' || machine !== undefined) return
  const { config } = await loadConfig(environment)
  findProgram(programOf(kind), config.coding.programs[kind] ?? {}, environment)
}

/** Refuses a directory that is closed to this agent; `undefined` stands for a person. */
export async function refuseDirectory(
  app: App,
  directory: string,
  agentId: string | undefined,
): Promise<void> {
  if (agentId === undefined) return
  if (isOpenTo(app, directory, agentId)) return refuseForeignRepository(app, directory, agentId)
  const { workspace, repositories } = launchLimitsOf(app, agentId)
  throw new RockpoolError('refused', `The agent ${agentId} cannot start sessions in ${directory}.`, {
    hint: `Allowed: ${[workspace, ...repositories].join(', ')}. A person can add a directory to coding.repos.`,
  })
}

/** Refuses a directory in which git would read a repository that is closed to this agent: files of the directory can lead git to
 *  any repository. `undefined` stands for a person. */
export async function refuseForeignRepository(
  app: App,
  directory: string,
  agentId: string | undefined,
): Promise<void> {
  if (agentId === undefined) return
  const folders = await foreignGitFolders(directory, gitIn(directory, app.environment.variables))
  if (folders?.every((folder) => isOpenTo(app, folder, agentId))) return
  throw new RockpoolError('refused', `${directory} uses a git repository that is closed to ${agentId}.`, {
    hint: 'A person can add that repository to coding.repos, or make the directory a working tree of it with `git worktree add`.',
  })
}

/** Whether an agent may work in this directory and read its documents. */
export function isOpenTo(app: App, directory: string, agentId: string): boolean {
  return mayUseDirectory(realPath(directory), launchLimitsOf(app, agentId))
}

function launchLimitsOf(app: App, agentId: string): LaunchLimits {
  const { repos, workdir, ownWorkdir, budgetUsd } = launchDefaults(app, agentId)
  const workspace = realPath(workspaceOf(app, agentId))
  const others = [...app.agentIds(), ...openclawAgentIds(app.paths)].map((id) =>
    realPath(workspaceOf(app, id)),
  )
  const repositories = [...Object.values(repos), workdir, ownWorkdir].filter((path) => path !== undefined)
  return {
    workspace,
    repositories: repositories.map(realPath),
    closed: [realPath(app.paths.root), ...others].filter((folder) => folder !== workspace),
    maxBudgetUsd: budgetUsd,
  }
}

/** A turn names its own chat; a program that is bound to an agent names one of the agent's chats. */
async function isOwnChat(app: App, originChannel: string, caller: Caller): Promise<boolean> {
  const { address, agentId, sessionKey } = caller
  if (address) return isSameOrigin(originChannel, formatOriginChannel(address))
  const named = parseOriginChannel(originChannel)
  if (named?.channel === openclawChannel) return isOwnTarget(originChannel, caller)
  if (sessionKey !== undefined || agentId === undefined || !named) return false
  return isChatOfAgent(app, agentId, named)
}

/** A chat of OpenClaw belongs to the agent in it; only the plugin in OpenClaw can name one. */
function isOwnTarget(originChannel: string, { agentId, agentPrefix }: Caller): boolean {
  const target = parseOpenClawOrigin(originChannel)
  return target !== undefined && agentPrefix !== undefined && agentPrefix + target.agentId === agentId
}

function tooWide(right: string, setting: string): RockpoolError {
  return new RockpoolError('refused', `This caller cannot give a session the ${right}.`, {
    hint: `Leave it out: the session asks for what it needs. A person can allow it in ${setting}.`,
  })
}

/** Only an operator at a terminal, not as root, may let a session run without asking. */
export function refuseBypass(mode: PermissionMode | undefined, caller: Caller): void {
  if (mode !== 'bypassPermissions') return
  const byOperator = caller.via === 'cli' && caller.agentId === undefined
  if (byOperator && process.getuid?.() !== 0) return
  throw new RockpoolError('refused', 'bypassPermissions is not allowed here.', {
    hint: 'Use acceptEdits, or list the tools that may run without asking.',
  })
}
