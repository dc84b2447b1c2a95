// The origin of a resumed session: an earlier one of ours, or one that an agent made without us.
import type { AgentKind } from '../../domain/agent.ts'
import type { CodingRequest, CodingSession } from '../../domain/coding-session.ts'
import type { CodingConfig } from '../../domain/config/coding-settings.ts'
import { hasOurPrefix, ourSettings } from '../../discovery/price-table.ts'
import type { AgentParts, CodingParts, NativeSession } from '../coding-parts.ts'
import { cannotResume, notResumable, runsElsewhere } from '../refusals.ts'
import { generateSessionName } from './names.ts'

interface ResumeOrigin {
  sdkSessionId: string
  request: Omit<CodingRequest, 'prompt' | 'resume' | 'spawnDepth'>
}

export function ownOrigin(earlier: CodingSession): ResumeOrigin {
  const { request, sdkSessionId, name } = earlier
  if (!sdkSessionId) throw cannotResume(name, earlier)
  return { sdkSessionId, request: { ...request, name: request.name ?? name } }
}

/** The session continues in its directory, with our own defaults. Only an operator resumes a conversation that no agent owns. */
export async function nativeOrigin(
  { findNative, config }: Pick<CodingParts, 'findNative' | 'config'>,
  ref: string,
  { fork = false }: { fork?: boolean },
): Promise<ResumeOrigin> {
  const native = await findNative(ref)
  if (!native) throw cannotResume(ref, undefined)
  if (native.isRunning && !fork) throw runsElsewhere(native)
  const { permissionMode } = config
  const agentKind = native.agentKind === 'claude' ? undefined : native.agentKind
  return {
    sdkSessionId: native.sessionId,
    request: {
      agentKind,
      workdir: native.repoPath,
      agentId: native.agentId ?? 'main',
      name: native.label ?? nameOf(native),
      label: native.label,
      model: agentKind === undefined ? config.defaultModel : config.programs[agentKind]?.model,
      budgetUsd: config.defaultBudgetUsd,
      allowedTools: [],
      permissionMode: permissionMode === 'bypassPermissions' ? 'default' : permissionMode,
      multiTurn: true,
      originChannel: 'gateway',
    },
  }
}

/** A name from the title or the first message, which people know from lists. The message that resumes the session says nothing
 *  about its task. */
function nameOf({ title, firstMessage }: NativeSession): string | undefined {
  const about = title ?? firstMessage
  return about && generateSessionName(about)
}

/** Throws if the conversation is gone. Throws also if it is open elsewhere or damaged, unless the caller wants a fork. `session`:
 *  the coding session whose conversation it is. */
export async function checkResumable(
  agents: Pick<AgentParts, 'runtime'>,
  kind: AgentKind,
  sdkSessionId: string,
  { session, fork = false }: { session?: Pick<CodingSession, 'id'>; fork?: boolean } = {},
): Promise<void> {
  const resumable = await (await agents.runtime(kind)).resumable(sdkSessionId)
  if (resumable.ok || (fork && (resumable.why === 'in-use' || resumable.why === 'damaged'))) return
  throw notResumable(resumable, session)
}

/** The settings that change when Rockpool resumes a session that Claude Code started. Undefined for Rockpool's own sessions, and
 *  for sessions of other agents: those report their rights when they start. */
export function resumeChanges(
  native: NativeSession,
  config: Pick<CodingConfig, 'defaultModel' | 'permissionMode'>,
): string | undefined {
  if (hasOurPrefix(native) || (native.agentKind ?? 'claude') !== 'claude') return undefined
  const { defaultModel, permissionMode } = config
  const differs = (ours: string | undefined, theirs: string | undefined): boolean =>
    ours !== undefined && theirs !== undefined && ours !== theirs
  const changes = [
    ...(differs(defaultModel, native.model) ? [`model ${defaultModel} instead of ${native.model}`] : []),
    ...(differs(permissionMode, native.permissionMode)
      ? [`permission mode ${permissionMode} instead of ${native.permissionMode}`]
      : []),
  ]
  const listed = changes.length === 0 ? '' : ` (${changes.join(', ')})`
  return `Claude Code started this session: ${ourSettings}${listed}.`
}
