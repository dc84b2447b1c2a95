// How Claude is opened for a coding session: what its launch asked for, in the agent's words.
import type { ConversationOptions } from '../domain/agent.ts'
import type { CodingSession } from '../domain/coding.ts'
import { tagOf } from './origin.ts'
import type { CodingParts } from './parts.ts'

export function openingOf(
  session: CodingSession,
  { agentOf, toolsFor }: Pick<CodingParts, 'agentOf' | 'toolsFor'>,
): Omit<ConversationOptions, 'askPermission' | 'beforeTool'> {
  const { id, name, request, sdkSessionId } = session
  return {
    key: `coding:${id}`,
    agent: agentOf(request.agentId),
    cwd: request.workdir,
    model: request.model,
    resume: sdkSessionId ? { sdkSessionId } : request.resume,
    systemPromptAppend: request.systemPrompt,
    permissionMode: request.permissionMode,
    allowedTools: request.allowedTools,
    thinkingLevel: request.thinking,
    tools: toolsFor(session),
    title: name,
    tag: tagOf(request),
    // Who launched it decides when it ends, not how many others there are.
    pinned: true,
  }
}
