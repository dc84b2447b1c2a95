// The tools that the plugin gives to a terminal session. Each one performs an operation for that session, in its directory, and
// answers in at most 2 kB: Claude Code puts longer answers into a file. The build writes the list for the plugin's server.
import { z } from 'zod'
import { messageAndHint, RockpoolError } from '../../domain/errors.ts'
import { compactAnswer } from '../agent-answers.ts'
import type { App } from '../app.ts'
import { recall } from '../cc/recall.ts'
import type { Caller } from '../operation.ts'
import { perform } from '../all.ts'

/** The session that calls, and where it works. */
interface Place {
  sessionId: string
  cwd: string
}

interface SessionTool<Input extends z.ZodObject = z.ZodObject> {
  description: string
  input: Input
  /** Undefined for `recall_lost`, which is no operation. */
  operation?: string
  fields(input: z.output<Input>, place: Place): Record<string, unknown>
}

function tool<Input extends z.ZodObject>(definition: SessionTool<Input>): SessionTool {
  // The table holds tools of every type; `fields` only ever gets input that the tool's own schema accepted.
  return definition
}

const everywhere = z.boolean().optional().describe('Not only in this repository.')

const tools: Readonly<Record<string, SessionTool>> = {
  why: tool({
    description: 'Which session and prompt wrote a line, file or commit.',
    input: z.object({ target: z.string().min(1).max(4_096).describe('file:line, file or commit') }),
    operation: 'why.ask',
    fields: ({ target }, { cwd }) => ({ target, repo: cwd }),
  }),
  search: tool({
    description: 'Search all earlier sessions.',
    input: z.object({ query: z.string().min(1).max(1_000), everywhere }),
    operation: 'sessions.search',
    fields: ({ query, everywhere: all }, { cwd }) => ({ query, repo: all ? undefined : cwd, limit: 5 }),
  }),
  sessions: tool({
    description: 'List sessions: what runs, what it does.',
    input: z.object({ running: z.boolean().optional(), everywhere }),
    operation: 'cc.list',
    fields: ({ running, everywhere: all }, { cwd }) => ({ running, repo: all ? undefined : cwd, limit: 6 }),
  }),
  recall_lost: tool({
    description: 'Bring back a tool result that a trimmed session left out.',
    input: z.object({ handle: z.string().min(1).max(200), from: z.int().min(0).optional() }),
    fields: (input) => input,
  }),
  handoff: tool({
    description: 'Hand this session over to another coding agent.',
    input: z.object({ to: z.enum(['codex', 'claude', 'pi']), brief: z.boolean().optional() }),
    operation: 'cc.handoff',
    fields: ({ to, brief }, { sessionId }) => ({ id: sessionId, to, brief }),
  }),
}

const mostChars = 2_000

/** For the plugin's server, in the form of MCP. */
export function listedTools(): object[] {
  return Object.entries(tools).map(([name, { description, input }]) => {
    const { $schema: _, additionalProperties: _none, ...inputSchema } = z.toJSONSchema(input, { io: 'input' })
    return { name, description, inputSchema }
  })
}

export async function callSessionTool(
  app: App,
  name: string,
  given: unknown,
  place: Place,
): Promise<{ text: string; isError: boolean }> {
  try {
    return { text: shortened(await run(app, name, given, place)), isError: false }
  } catch (error) {
    return { text: shortened(messageAndHint(error)), isError: true }
  }
}

async function run(app: App, name: string, given: unknown, place: Place): Promise<string> {
  const called = Object.hasOwn(tools, name) ? tools[name] : undefined
  const read = called?.input.safeParse(given ?? {})
  if (!called || !read?.success)
    throw new RockpoolError('input-invalid', `There is no tool ${name} with this input.`)
  const { operation: wanted } = called
  const fields = called.fields(read.data, place)
  if (wanted === undefined) return recalled(app, fields as { handle: string; from?: number })
  return answerOf(app, wanted, fields, place)
}

/** A terminal session is no agent of ours: it acts for itself, never with the words of the owner. */
async function answerOf(
  app: App,
  name: string,
  fields: Record<string, unknown>,
  { sessionId }: Place,
): Promise<string> {
  const scopes = ['read', 'write'] as const
  const caller: Caller = { via: 'mcp', scopes, claudeSession: sessionId, name: 'claude-plugin' }
  return JSON.stringify(compactAnswer(name, {}, await perform(app, name, fields, caller)))
}

async function recalled(app: App, { handle, from = 0 }: { handle: string; from?: number }): Promise<string> {
  const { cut } = await recall(app, { handle, from, limit: mostChars - 200 }, () => true)
  return JSON.stringify({ ...cut, images: undefined })
}

function shortened(text: string): string {
  if (text.length <= mostChars) return text
  return `${text.slice(0, mostChars - 40).toWellFormed()}… (cut; ask more narrowly)`
}
