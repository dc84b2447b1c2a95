// Operations as tools for agents in chats and for MCP clients. Each operation is listed once: under its alias, if it has one.
// Both names can be called.
import { z } from 'zod'
import type { AgentTool } from '../domain/agent.ts'
import { aliases } from './aliases.ts'
import { allOperations, findOperation } from './all.ts'
import { hasScope } from './perform-operation.ts'
import { messageAndHint } from '../domain/errors.ts'
import { answerText, compactAnswer } from './agent-answers.ts'
import type { Operation, Scope } from './operation.ts'
import { isRecord } from '../domain/json.ts'

/** Performs the operation, here or in the gateway. */
export type AskOperation = (operation: Operation, input: Record<string, unknown>) => Promise<unknown>

export interface OperationTool {
  name: string
  description: string
  inputSchema: ToolSchema
  operation: Operation
  /** Shown in lists of tools; not set for second names. */
  isListed: boolean
  call: AgentTool['call']
  /** `call` with another function that performs the operation. */
  callAs(ask: AskOperation): AgentTool['call']
}

interface ToolSchema extends Record<string, unknown> {
  type: 'object'
  properties: Record<string, object>
  required: string[]
}

/** Longer answers are cut, and the text says so. */
const maxText = 60_000

/** Every tool that these scopes may call, under the operation's name and under its aliases; or those with the names `only`, of which
 *  nothing else is loaded. */
export async function operationTools(
  scopes: readonly Scope[],
  ask: AskOperation,
  only?: ReadonlySet<string>,
): Promise<OperationTool[]> {
  const operations = only ? await operationsOfTools([...only]) : await allOperations()
  const offered = operations.filter(({ forAgents, scope }) => forAgents && hasScope(scopes, scope))
  const isWanted = (name: string): boolean => only?.has(name) ?? true
  const own = offered
    .filter(({ name }) => isWanted(toolName(name)))
    .map((operation) => makeTool(operation, toolName(operation.name), {}, {}, ask))
  const others = Object.entries(aliases.tool).flatMap(([name, alias]) => {
    const operation = isWanted(name) && offered.find((candidate) => candidate.name === alias.of)
    return operation ? [makeTool(operation, name, alias.fields ?? {}, alias.implied ?? {}, ask)] : []
  })
  return [...own, ...others]
}

async function operationsOfTools(tools: string[]): Promise<Operation[]> {
  const nameOf = (tool: string): string => aliases.tool[tool]?.of ?? tool.replace('_', '.')
  const names = new Set(tools.map(nameOf))
  const found = await Promise.all([...names].map((name) => findOperation(name)))
  return found.filter((operation) => operation !== undefined)
}

/** `sessions.list` is `sessions_list`. */
export function toolName(operationName: string): string {
  return operationName.replaceAll(/[.-]/g, '_')
}

function makeTool(
  operation: Operation,
  name: string,
  rename: Readonly<Record<string, string>>,
  given: Readonly<Record<string, unknown>>,
  ask: AskOperation,
): OperationTool {
  const callAs =
    (work: AskOperation): AgentTool['call'] =>
    async (input) => {
      const spelled = Object.entries(input).map(([field, value]) => [rename[field] ?? field, value])
      try {
        const fields = Object.fromEntries(spelled) as Record<string, unknown>
        const output = await work(operation, { ...given, ...fields })
        return answer(operation, compactAnswer(operation.name, fields, output), isAlias(name))
      } catch (error) {
        return { text: messageAndHint(error), isError: true }
      }
    }
  const inputSchema = schemaOf(operation, rename, given)
  const isListed = isAlias(name) || !Object.values(aliases.tool).some(({ of }) => of === operation.name)
  return {
    name,
    description: operation.description,
    inputSchema,
    operation,
    isListed,
    call: callAs(ask),
    callAs,
  }
}

function isAlias(name: string): boolean {
  return Object.hasOwn(aliases.tool, name)
}

/** Under an alias the answer is the text that users of that name expect; under our own name it is the JSON document. */
function answer(operation: Operation, output: unknown, asText: boolean) {
  const text = asText ? answerText(operation.name, output) : undefined
  const whole = text ?? JSON.stringify(output)
  if (whole.length > maxText) {
    const more = whole.length - maxText
    return { text: `${whole.slice(0, maxText).toWellFormed()}… (${more} more characters; ask for less)` }
  }
  const isDocument = isRecord(output)
  // Clients show the document instead of the text when they get both.
  if (text !== undefined || !isDocument) return { text: whole }
  return { text: whole, structured: output }
}

function schemaOf(
  operation: Operation,
  rename: Readonly<Record<string, string>>,
  given: Readonly<Record<string, unknown>>,
): ToolSchema {
  const theirs = Object.fromEntries(Object.entries(rename).map(([from, to]) => [to, from]))
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
