// How Claude is opened for a coding session: what its launch asked for, in the agent's words, and what it is told first.
import type { ConversationOptions } from '../../domain/agent.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { chooseWhenFree } from '../queue/choose-when-free.ts'
import { toolsOf } from '../../rights/tools.ts'
import type { LiveRecord } from './live-record.ts'
import { isCommand } from './names.ts'
import { tagOf, withOriginMarker } from './origin.ts'
import type { CodingParts } from '../coding-parts.ts'

/** The other sessions of this process. */
export interface OtherRuns {
  /** Idle sessions give up their processes if too many live. */
  makeRoom(): Promise<void>
  /** Ends the idle session that has this conversation open, so that another one continues it. */
  release(sdkSessionId: string): Promise<void>
}

export function openingOf(
  session: CodingSession,
  { agentOf, toolsFor }: Pick<CodingParts, 'agentOf' | 'toolsFor'>,
): Omit<ConversationOptions, 'askPermission' | 'beforeTool'> {
  const { id, name, request, sdkSessionId, newSdkSessionId } = session
  return {
    key: `coding:${id}`,
    agent: agentOf(request.agentId),
    cwd: request.workdir,
    model: request.model,
    resume: sdkSessionId ? { sdkSessionId } : request.resume,
    ...(sdkSessionId ? {} : { newSdkSessionId }),
    systemPromptAppend: request.systemPrompt,
    permissionMode: request.permissionMode,
    allowedTools: request.allowedTools,
    toolRights: toolsOf('coding'),
    thinkingLevel: request.thinking,
    tools: toolsFor(session),
    // A conversation that goes on keeps the title that it has: Claude's own, or the one that a person gave it.
    title: sdkSessionId || (request.resume && !request.resume.fork) ? undefined : name,
    tag: tagOf(request),
    // Who launched it decides when it ends, not how many others there are.
    pinned: true,
  }
}

/** The marker says to whoever scans Claude's files that it is ours; a conversation that is gone on with has its own. */
export async function firstMessage(
  parts: CodingParts,
  record: LiveRecord,
  prompt: string,
  others: Pick<OtherRuns, 'release'>,
  signal: AbortSignal,
): Promise<string> {
  const { request } = record.session
  if (request.chooseWhenFree) {
    const resume = await chooseWhenFree(parts, record.session, signal)
    if (resume && !resume.fork) await others.release(resume.sdkSessionId)
    await record.change({
      request: { ...request, resume, chooseWhenFree: false },
      resumedFrom: resume?.sdkSessionId,
    })
  }
  const { request: chosen, sdkSessionId } = record.session
  return chosen.resume || sdkSessionId ? prompt : withOriginMarker(request.agentId, prompt)
}

/** What Claude is to be told stands before the message. A command is for Claude Code alone: then it is left for the next. */
export function withAside(
  { aside }: Pick<CodingSession, 'aside'>,
  text: string,
): { text: string; left?: string } {
  return aside === undefined || isCommand(text) ? { text, left: aside } : { text: `${aside}\n\n${text}` }
}
