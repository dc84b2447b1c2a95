// `rockpool mcp`: serves Rockpool's operations to any MCP client, or the bridge to one native session of Claude Code.
import { realpathSync } from 'node:fs'
import { openApp } from './app.ts'
import type { McpInput } from './cli/host.ts'
import { makeBridge } from './discovery/bridge.ts'
import { callingSession } from './discovery/calling-session.ts'
import { RockpoolError } from './domain/errors.ts'
import { serveBridge, serveOperations } from './mcp/server.ts'
import { StdioTransport } from './mcp/stdio-transport.ts'
import type { AskOperation } from './operations/agent-tools.ts'
import type { App } from './operations/app.ts'
import { bridgeWorld, type BridgeClient } from './operations/cc/bridge-world.ts'
import type { Caller } from './operations/operation.ts'
import { performOperation } from './operations/perform-operation.ts'
import { GatewayClient } from './rpc/client.ts'
import type { Environment } from './store/config-file.ts'
import { checkAgentId } from './store/paths.ts'

export async function serveMcp(environment: Environment, version: string, input: McpInput): Promise<void> {
  const claudeSession = await callingSession(environment)
  if (!input.bridge && input.gateway?.token)
    return serveThroughGateway(version, { ...input, claudeSession }, input.gateway)
  const app = await openApp(environment, { version })
  try {
    if (input.bridge) await serveTheBridge(app, input)
    else
      await serveOperations(
        { version, scopes: input.scope, ask: askHere(app, { ...input, claudeSession }) },
        new StdioTransport(),
      )
  } finally {
    await app.close()
  }
}

/** Live sessions are in the gateway, so the tools call the gateway. The connection has only the requested scopes. */
async function serveThroughGateway(
  version: string,
  { scope, agent, claudeSession }: McpInput & { claudeSession?: string },
  connection: NonNullable<McpInput['gateway']>,
): Promise<void> {
  const narrowed = { scopes: scope, agentId: agent, claudeSession }
  const client = new GatewayClient({ ...connection, narrowed })
  const ask: AskOperation = (operation, input) => client.callByName(operation.name, input)
  await serveOperations({ version, scopes: scope, ask }, new StdioTransport())
  client.close()
}

function askHere(
  app: App,
  { scope, agent, claudeSession }: McpInput & { claudeSession?: string },
): AskOperation {
  const agentId = agent === undefined ? undefined : checkAgentId(agent)
  const caller: Caller = { via: 'mcp', scopes: scope, name: 'mcp', agentId, claudeSession }
  return async (operation, input) => {
    if (!operation.needsGateway) return performOperation(app, operation, input, caller)
    throw new RockpoolError('unavailable', `${operation.name} needs the gateway.`, {
      hint: '`rockpool up` starts it.',
    })
  }
}

async function serveTheBridge(app: App, input: McpInput): Promise<void> {
  const server = makeBridge()(bridgeWorld(app, clientOf(app, input)), app.config.mcpBridge)
  if (!server) {
    throw new RockpoolError('refused', 'The bridge is switched off: mcpBridge in the configuration.', {
      hint: 'Set mcpBridge.enabled to true, or leave it out.',
    })
  }
  await serveBridge(server, new StdioTransport())
}

function clientOf(app: App, input: McpInput): BridgeClient {
  const { list } = app.config.agents
  const agentId = input.agent ?? list.find((agent) => agent.default)?.id ?? list[0]?.id ?? 'main'
  return {
    agentId: checkAgentId(agentId),
    repoPath: realpathSync(input.repo),
    sessionKey: input.sessionKey,
    // Claude Code starts its MCP servers, so the session is found by the ancestors of this process.
    pid: process.pid,
  }
}
