// What `rockpool mcp` serves, put together: the bridge for one session that Claude Code runs without us.
import { realpathSync } from 'node:fs'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { openApp } from './app.ts'
import type { McpInput } from './cli/local-command.ts'
import { bridgeServer } from './discovery/bridge.ts'
import { RockpoolError } from './domain/errors.ts'
import { serveBridge } from './mcp/bridge.ts'
import type { App } from './operations/app.ts'
import type { BridgeSeat } from './operations/bridge-world.ts'
import { bridgeWorld } from './operations/bridge-world.ts'
import type { Environment } from './store/config-file.ts'
import { checkAgentId } from './store/paths.ts'

export async function serveMcp(environment: Environment, version: string, input: McpInput): Promise<void> {
  if (!input.bridge) {
    throw new RockpoolError('usage', 'Only the bridge can be served yet.', { hint: 'Add --bridge.' })
  }
  const app = await openApp(environment, { version })
  try {
    const server = bridgeServer(bridgeWorld(app, seatOf(app, input)), app.config.mcpBridge)
    if (!server) {
      throw new RockpoolError('refused', 'The bridge is switched off: mcpBridge in the configuration.', {
        hint: 'Set mcpBridge.enabled to true, or leave it out.',
      })
    }
    await serveBridge(server, new StdioServerTransport())
  } finally {
    await app.close()
  }
}

function seatOf(app: App, input: McpInput): BridgeSeat {
  const { list } = app.config.agents
  const agentId = input.agent ?? list.find((agent) => agent.default)?.id ?? list[0]?.id ?? 'main'
  return {
    agentId: checkAgentId(agentId),
    repoPath: realpathSync(input.repo),
    sessionKey: input.sessionKey,
    // Claude Code starts its servers itself: the session is the one whose process stands above ours.
    pid: process.pid,
  }
}
