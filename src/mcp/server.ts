// `rockpool mcp`: the operations that are marked for agents, as tools of an MCP server. Which of them a client sees
// and may call follows from its scopes; the work is done by `perform`, as everywhere.
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { asRockpoolError } from '../domain/errors.ts'
import { aliases } from '../operations/aliases.ts'
import { allOperations } from '../operations/all.ts'
import { includes } from '../operations/authorize.ts'
import type { Operation, Scope } from '../operations/operation.ts'

export interface McpParts {
  version: string
  scopes: readonly Scope[]
  ask: AskOperation
}

/** Does the work, here or in the gateway. */
export type AskOperation = (operation: Operation, input: Record<string, unknown>) => Promise<unknown>

interface NamedTool {
  tool: Tool
  operation: Operation
  /** From the names that the tool's callers use to the operation's own. */
  rename: Readonly<Record<string, string>>
  given: Readonly<Record<string, unknown>>
}

/** More than a model can take in at once is cut, and it is told so. */
const maxText = 60_000

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
  const tools = await listTools(parts.scopes)
  const server = new Server({ name: 'rockpool', version: parts.version }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(({ tool }) => tool) }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const found = tools.find(({ tool }) => tool.name === params.name)
    return found ? callTool(found, params.arguments ?? {}, parts) : failed(`There is no tool ${params.name}.`)
  })
  return server
}

/** Every tool that these scopes may call: under the operation's name, and under the names that others fixed. */
export async function listTools(scopes: readonly Scope[]): Promise<NamedTool[]> {
  const offered = (await allOperations()).filter(
    ({ forAgents, scope }) => forAgents && includes(scopes, scope),
  )
  const own = offered.map((operation) => describeTool(operation, toolName(operation.name)))
  const others = Object.entries(aliases.tool).flatMap(([name, alias]) => {
    const operation = offered.find((candidate) => candidate.name === alias.of)
    return operation ? [describeTool(operation, name, alias.fields, alias.given)] : []
  })
  return [...own, ...others]
}

/** `sessions.list` is `sessions_list`. */
export function toolName(operationName: string): string {
  return operationName.replaceAll(/[.-]/g, '_')
}

function describeTool(
  operation: Operation,
  name: string,
  rename: Readonly<Record<string, string>> = {},
  given: Readonly<Record<string, unknown>> = {},
): NamedTool {
  const theirs = Object.fromEntries(Object.entries(rename).map(([from, to]) => [to, from]))
  return {
    operation,
    rename,
    given,
    tool: {
      name,
      description: operation.says,
      inputSchema: inputSchemaOf(operation, theirs, given),
      annotations: {
        readOnlyHint: !operation.acts,
        destructiveHint: operation.destructive === true,
        idempotentHint: !operation.acts,
        openWorldHint: false,
      },
    },
  }
}

function inputSchemaOf(
  operation: Operation,
  theirs: Record<string, string>,
  given: Readonly<Record<string, unknown>>,
): Tool['inputSchema'] {
  const schema = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' })
  const spelled = (field: string): string => theirs[field] ?? field
  const properties = Object.entries(schema.properties ?? {}).map(([field, inner]) => [spelled(field), inner])
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as Record<string, object>,
    required: (schema.required ?? []).filter((field) => !(field in given)).map(spelled),
    additionalProperties: false,
  }
}

async function callTool(
  found: NamedTool,
  given: Record<string, unknown>,
  parts: McpParts,
): Promise<CallToolResult> {
  const spelled = Object.entries(given).map(([field, value]) => [found.rename[field] ?? field, value])
  try {
    const input = { ...found.given, ...(Object.fromEntries(spelled) as Record<string, unknown>) }
    const output = await parts.ask(found.operation, input)
    const text = JSON.stringify(output)
    const structured = typeof output === 'object' && output !== null && !Array.isArray(output)
    return {
      content: [{ type: 'text', text: text.length > maxText ? cut(text) : text }],
      ...(structured && text.length <= maxText
        ? { structuredContent: output as Record<string, unknown> }
        : {}),
    }
  } catch (error) {
    const { message, hint } = asRockpoolError(error)
    return failed(hint ? `${message} ${hint}` : message)
  }
}

function cut(text: string): string {
  return `${text.slice(0, maxText)}… (${text.length - maxText} more characters; ask for less)`
}

function failed(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}
