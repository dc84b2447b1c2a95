// Serves the bridge's tools over MCP, for sessions that Claude Code runs without us: `rockpool mcp --bridge` over stdio.
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'
import type { AgentTool, ToolServer } from '../domain/agent.ts'

/** The version that OpenClaw's bridge says it has. */
const bridgeVersion = '2.0.0'

/** Resolves when the other side is gone. */
export async function serveBridge(toolServer: ToolServer, transport: Transport): Promise<void> {
  // The high-level server wants zod shapes; our tools have JSON Schema, as every other door gets it.
  const server = new Server(
    { name: toolServer.name, version: bridgeVersion },
    { capabilities: { tools: {} } },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: toolServer.tools.map(described) }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
    call(toolServer.tools, params.name, params.arguments ?? {}),
  )
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve
    // The transport does not say that its client is gone.
    process.stdin.once('end', () => void server.close())
  })
  await server.connect(transport)
  await closed
}

function described(tool: AgentTool): Tool {
  return {
    name: tool.name,
    description: tool.description,
    // Every tool's schema is an object's; the type cannot know.
    inputSchema: tool.inputSchema as Tool['inputSchema'],
    annotations: { readOnlyHint: tool.readOnly ?? false },
    // Otherwise Claude finds the tool only if it searches for it.
    _meta: { 'anthropic/alwaysLoad': true },
  }
}

async function call(
  tools: AgentTool[],
  name: string,
  input: Record<string, unknown>,
): Promise<CallToolResult> {
  const found = tools.find((tool) => tool.name === name)
  if (!found)
    return { content: [{ type: 'text', text: `There is no tool ${JSON.stringify(name)}.` }], isError: true }
  const { text, isError = false, structured } = await found.call(input)
  return {
    content: [{ type: 'text', text }],
    isError,
    ...(structured === undefined ? {} : { structuredContent: structured }),
  }
}
