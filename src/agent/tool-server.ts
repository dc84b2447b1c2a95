// Our own tools, offered to Claude as an MCP server inside this process. The tools are looked up at each call, so that a
// conversation that goes on for days always calls the functions of its latest `open`.
import type { McpSdkServerConfigWithInstance } from '@anthropic-ai/claude-agent-sdk'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { AgentTool, ToolServer } from '../domain/agent.ts'

export function makeToolServer(
  name: string,
  current: () => ToolServer | undefined,
): McpSdkServerConfigWithInstance {
  const instance = new McpServer({ name, version: '1.0.0' }, { capabilities: { tools: {} } })
  instance.server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: (current()?.tools ?? []).map(describe),
  }))
  instance.server.setRequestHandler(CallToolRequestSchema, (request) =>
    callTool(current(), request.params.name, request.params.arguments ?? {}),
  )
  return { type: 'sdk', name, instance }
}

function describe(tool: AgentTool): object {
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: { ...tool.inputSchema, type: 'object' as const },
    annotations: { readOnlyHint: tool.readOnly ?? false },
    // Otherwise Claude finds the tool only if it searches for it.
    _meta: { 'anthropic/alwaysLoad': true },
  }
}

async function callTool(
  server: ToolServer | undefined,
  name: string,
  input: Record<string, unknown>,
): Promise<CallToolResult> {
  const tool = server?.tools.find((tool) => tool.name === name)
  if (!tool) return { content: [{ type: 'text', text: `There is no tool ${name}.` }], isError: true }
  try {
    const { text, isError = false, structured } = await tool.call(input)
    return {
      content: [{ type: 'text', text }],
      isError,
      ...(structured ? { structuredContent: structured } : {}),
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { content: [{ type: 'text', text: `${name} failed: ${reason}` }], isError: true }
  }
}
