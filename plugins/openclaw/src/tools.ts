// The tools that OpenClaw's model calls. Each one performs the operation of Rockpool that the table names, as the agent that calls.
import { messageAndHint } from '../../../src/domain/errors.ts'
import { answerText, compactAnswer } from '../../../src/operations/agent-answers.ts'
import { resolveAlias } from '../../../src/operations/aliases.ts'
import type { OpenClawApi, OpenClawTool, ToolAnswer, ToolContext } from './openclaw-api.ts'
import { originChannelOf, targetOfTool } from './origin.ts'
import type { Target } from './origin.ts'
import { callRockpool } from './rockpool.ts'
import { table } from './table.ts'
import type { ToolRow } from './table.ts'

export function registerTools(api: OpenClawApi): void {
  for (const row of table.tools) {
    api.registerTool((context) => (isGuest(context) ? null : makeTool(api, row, context)), { name: row.name })
  }
}

/** 2026.9.6 says whether the owner asks; a guest gets no tool. 2026.1.30 decides by its own tool policy. */
function isGuest({ senderIsOwner }: ToolContext): boolean {
  return senderIsOwner === false
}

function makeTool(api: OpenClawApi, row: ToolRow, context: ToolContext): OpenClawTool {
  const { name, description, parameters } = row
  return {
    name,
    label: name,
    description,
    parameters,
    // Otherwise 2026.9.6 hides the tool behind its search for tools.
    catalogMode: 'direct-only',
    async execute(_callId, input, signal) {
      const target = targetOfTool(api, context)
      const { agentId } = target
      const named = resolveAlias('tool', name, input)
      const params = withChat(row.operation, named.input, target)
      try {
        const result = await callRockpool(api, {
          method: row.operation,
          params,
          agentId,
          as: 'agent',
          signal,
        })
        return toolAnswer(textFor(row.operation, named.input, result), result)
      } catch (error) {
        return toolAnswer(messageAndHint(error))
      }
    },
  }
}

/** OpenClaw grades a call by names like `status` and `error` in `details`, so the result is put below a name of its own. */
function toolAnswer(text: string, result?: unknown): ToolAnswer {
  return { content: [{ type: 'text', text }], details: { result } }
}

/** Notices of a launched session, and the output of a watched one, come to the chat of the turn. A chat that the model names does not
 *  count: the session would read the conversation of that chat, and write into it. */
function withChat(
  operation: string,
  input: Record<string, unknown>,
  target: Target,
): Record<string, unknown> {
  const chat = originChannelOf(target)
  if (operation === 'coding.launch') return { ...input, originChannel: chat }
  if (operation === 'coding.foreground' || operation === 'coding.background')
    return { ...input, channel: chat }
  return input
}

const maxText = 60_000

/** The text that users of the tool know; the JSON document for operations without one. */
function textFor(operation: string, input: Record<string, unknown>, result: unknown): string {
  const compact = compactAnswer(operation, input, result)
  const text = answerText(operation, compact) ?? JSON.stringify(compact)
  if (text.length <= maxText) return text
  return `${text.slice(0, maxText).toWellFormed()}… (${text.length - maxText} more characters; ask for less)`
}
