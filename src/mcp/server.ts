// `rockpool mcp`: the operations that are marked for agents, as tools of an MCP server. Which of them a client sees
// and may call follows from its scopes; the work is done by `perform`, as everywhere.
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'
import { operationTools } from '../operations/agent-tools.ts'
import type { AskOperation, OperationTool } from '../operations/agent-tools.ts'
import type { Scope } from '../operations/operation.ts'

export interface McpParts {
  version: string
  scopes: readonly Scope[]
  ask: AskOperation
}

/** Resolves when the other side is gone. */
export async function serveOperations(parts: McpParts, transport: Transport): Promise<void> {
  const server = await makeServer(parts)
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve
    // The transport does not notice that the client has closed its end.
    process.stdin.once('end', () => void server.close())
  })
  await server.connect(transport)
  await closed
}

async function makeServer(parts: McpParts): Promise<Server> {
  const tools = await operationTools(parts.scopes, parts.ask)
  const described = tools.filter(({ isListed }) => isListed).map(describeTool)
  const server = new Server({ name: 'rockpool', version: parts.version }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: described }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const found = tools.find(({ name }) => name === params.name)
    return found ? callTool(found, params.arguments ?? {}) : failed(`There is no tool ${params.name}.`)
  })
  return server
}

function describeTool({ name, description, inputSchema, operation }: OperationTool): Tool {
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

async function callTool(tool: OperationTool, given: Record<string, unknown>): Promise<CallToolResult> {
  const { text, isError, structured } = await tool.call(given)
  return {
    content: [{ type: 'text', text }],
    ...(isError ? { isError } : {}),
    ...(structured ? { structuredContent: structured } : {}),
  }
}

function failed(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}
