// MCP servers over stdio. `rockpool mcp` offers the operations for agents, as far as the scopes of the client allow;
// `rockpool mcp --bridge` offers the bridge's tools to a session that Claude Code runs without Rockpool.
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'
import type { AgentTool, ToolServer } from '../domain/agent.ts'
import { operationTools } from '../operations/agent-tools.ts'
import type { AskOperation, OperationTool } from '../operations/agent-tools.ts'
import type { Scope } from '../operations/operation.ts'

interface McpParts {
  version: string
  scopes: readonly Scope[]
  ask: AskOperation
}

/** The version that OpenClaw's bridge reports. */
const bridgeVersion = '2.0.0'

/** Resolves when the client disconnects. */
export async function serveOperations(parts: McpParts, transport: Transport): Promise<void> {
  const tools = await operationTools(parts.scopes, parts.ask)
  const listed = tools.filter(({ isListed }) => isListed).map(describeOperation)
  await serve({ name: 'rockpool', version: parts.version }, tools, listed, transport)
}

/** Resolves when the client disconnects. */
export async function serveBridge({ name, tools }: ToolServer, transport: Transport): Promise<void> {
  await serve({ name, version: bridgeVersion }, tools, tools.map(describeBridgeTool), transport)
}

// The high-level server of the library needs zod shapes; our tools have JSON Schema.
async function serve(
  about: { name: string; version: string },
  tools: ReadonlyArray<Pick<AgentTool, 'name' | 'call'>>,
  listed: Tool[],
  transport: Transport,
): Promise<void> {
  const server = new Server(about, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }): Promise<CallToolResult> => {
    const tool = tools.find(({ name }) => name === params.name)
    const {
      text,
      isError = false,
      structured,
    } = tool
      ? await tool.call(params.arguments ?? {})
      : { text: `There is no tool ${JSON.stringify(params.name)}.`, isError: true }
    return { content: [{ type: 'text', text }], isError, structuredContent: structured }
  })
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve
  })
  await server.connect(transport)
  await closed
}

function describeOperation({ name, description, inputSchema, operation }: OperationTool): Tool {
  return {
    name,
    description,
    inputSchema,
    annotations: {
      readOnlyHint: !operation.changesState,
      destructiveHint: operation.destructive === true,
      idempotentHint: !operation.changesState,
      openWorldHint: false,
    },
  }
}

function describeBridgeTool({ name, description, inputSchema, readOnly = false }: AgentTool): Tool {
  return {
    name,
    description,
    // The schema of every tool is an object schema; the type does not say so.
    inputSchema: inputSchema as Tool['inputSchema'],
    annotations: { readOnlyHint: readOnly },
    // Without this, Claude finds the tool only if it searches for it.
    _meta: { 'anthropic/alwaysLoad': true },
  }
}
