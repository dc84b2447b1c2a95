// The chat commands, which answer without the model, and the gateway methods. Rockpool reads the arguments of a command as in its
// own chats. Both use the token of a person: OpenClaw has checked the sender of a command and the scope of the caller of a method.
import { asRockpoolError, messageAndHint } from '../../../src/domain/errors.ts'
import { currentConfig } from './openclaw-api.ts'
import type { CommandContext, OpenClawApi } from './openclaw-api.ts'
import { defaultAgent, originChannelOf, targetOfCommand } from './origin.ts'
import { callRockpool, rockpoolUrl, shared } from './rockpool.ts'
import { table } from './table.ts'

export function registerCommands(api: OpenClawApi): void {
  for (const { name, description } of table.commands) {
    api.registerCommand({
      name,
      description,
      acceptsArgs: true,
      requireAuth: true,
      handler: (context) => runCommand(api, name, context),
    })
  }
}

async function runCommand(
  api: OpenClawApi,
  name: string,
  context: CommandContext,
): Promise<{ text: string; isError?: boolean }> {
  if (!context.isAuthorizedSender || context.senderIsOwner === false)
    return { text: 'Only the owner can use this command.', isError: true }
  try {
    const target = targetOfCommand(api, context)
    const params = { name, args: context.args?.trim() ?? '', originChannel: originChannelOf(target) }
    const { agentId } = target
    const answer = await callRockpool(api, { method: 'openclaw.command', params, agentId, as: 'person' })
    return answer as { text: string; isError?: boolean }
  } catch (error) {
    return { text: messageAndHint(error), isError: true }
  }
}

export function registerMethods(api: OpenClawApi): void {
  for (const { name, scope } of table.methods) {
    api.registerGatewayMethod(
      name,
      async ({ params = {}, respond }) => {
        try {
          respond(true, await performMethod(api, name, params))
        } catch (thrown) {
          const error = asRockpoolError(thrown)
          const { retryable } = error.report()
          const code = retryable ? 'UNAVAILABLE' : 'INVALID_REQUEST'
          respond(false, undefined, { code, message: messageAndHint(error), retryable })
        }
      },
      // 2026.1.30 knows no scopes of plugins: its methods need `operator.admin`.
      { scope: `operator.${scope}` },
    )
  }
}

/** `agentId` in the parameters is OpenClaw's name of the agent. */
async function performMethod(
  api: OpenClawApi,
  method: string,
  { agentId, ...params }: Record<string, unknown>,
): Promise<unknown> {
  if (method === 'claude-code.health') return health(api)
  const agent = typeof agentId === 'string' ? agentId : defaultAgent(currentConfig(api))
  return callRockpool(api, { method, params, agentId: agent, as: 'person' })
}

async function health(api: OpenClawApi): Promise<unknown> {
  const rockpool = (await callRockpool(api, { method: 'health', as: 'person' })) as object
  const { isConnected = false, problem } = shared
  return { ...rockpool, url: rockpoolUrl(api), isConnected, problem }
}
