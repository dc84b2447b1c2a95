// Claude asks before it uses a tool that was not allowed beforehand. Translates its question into ours and our answer into its
// own. What is allowed "always" applies to the conversation only and is not stored.
import type {
  CanUseTool,
  HookCallback,
  PermissionResult,
  PermissionUpdate,
} from '@anthropic-ai/claude-agent-sdk'
import type { AskPermission, PermissionAnswer, PermissionRequest } from '../domain/agent.ts'
import { errorText } from '../domain/errors.ts'

type Details = Parameters<CanUseTool>[2]

/** The answer if there is no person to ask. */
export const denyUnasked: AskPermission = async (request) => ({
  behavior: 'deny',
  message: `No person can be asked about ${request.toolName} in this conversation, so it is not allowed. Continue without it, or say what you would have done.`,
})

/** The directory of each tool call, from the hook before the call; the permission question does not have it. */
export class CallDirectories {
  #directories = new Map<string, string>()

  readonly hook: HookCallback = async (input, toolUseId) => {
    if (toolUseId === undefined) return {}
    this.#directories.set(toolUseId, input.cwd)
    // Most calls need no permission, so old directories are dropped.
    const [oldest] = this.#directories.keys()
    if (this.#directories.size > mostCallsAtOnce && oldest !== undefined) this.#directories.delete(oldest)
    return {}
  }

  take(toolUseId: string): string | undefined {
    const directory = this.#directories.get(toolUseId)
    this.#directories.delete(toolUseId)
    return directory
  }
}

const mostCallsAtOnce = 200

export function makeCanUseTool(ask: AskPermission, directoryOf: (toolUseId: string) => string): CanUseTool {
  return async (toolName, input, details) => {
    const request = { ...toRequest(toolName, input, details), cwd: directoryOf(details.toolUseID) }
    try {
      const answer = await ask(request, details.signal)
      return toResult(answer, input, details)
    } catch (error) {
      const reason = errorText(error)
      const message = `Rockpool could not ask a person about ${toolName}: ${reason}. The tool is not allowed.`
      return { behavior: 'deny', message }
    }
  }
}

function toRequest(toolName: string, input: Record<string, unknown>, details: Details): PermissionRequest {
  return {
    requestId: details.requestId,
    kind: permissionKind(toolName),
    toolName,
    input,
    title: details.title ?? details.displayName,
    description: details.description,
    reason: details.decisionReason,
    toolUseId: details.toolUseID,
    subagentId: details.agentID,
    rules: alwaysRules(details)
      .flatMap(({ rules }) => rules)
      .map(({ toolName: tool, ruleContent }) => (ruleContent ? `${tool}(${ruleContent})` : tool)),
  }
}

export function permissionKind(toolName: string): PermissionRequest['kind'] {
  if (toolName === 'AskUserQuestion') return 'question'
  return toolName === 'ExitPlanMode' ? 'plan' : 'tool'
}

function toResult(
  answer: PermissionAnswer,
  input: Record<string, unknown>,
  details: Details,
): PermissionResult {
  if (answer.behavior === 'deny') {
    const { message, interrupt } = answer
    return { behavior: 'deny', message, interrupt, decisionClassification: 'user_reject' }
  }
  const rules = answer.always ? alwaysRules(details) : []
  return {
    behavior: 'allow',
    updatedInput: answer.updatedInput ?? input,
    updatedPermissions: rules.length > 0 ? rules : undefined,
    decisionClassification: rules.length > 0 ? 'user_permanent' : 'user_temporary',
  }
}

type AddRules = Extract<PermissionUpdate, { type: 'addRules' }>

/** Claude suggests rules for its settings files, and a change of mode. We take the rules, for this conversation only. */
function alwaysRules({ suggestions = [], suppressAlwaysAllowRule }: Details): AddRules[] {
  if (suppressAlwaysAllowRule) return []
  return suggestions.flatMap((update) =>
    update.type === 'addRules' && update.behavior === 'allow'
      ? [{ ...update, destination: 'session' as const }]
      : [],
  )
}
