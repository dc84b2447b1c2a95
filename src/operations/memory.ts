// The notes of agents: list them, show one, add to today's, and find something in them.
import { z } from 'zod'
import { defaultAgentId } from '../domain/default-agent.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { App } from './app.ts'
import { operation } from './operation.ts'
import type { Caller, Operation } from './operation.ts'
import { addNote, listNotes, readNote } from '../store/notes.ts'
import { searchMemory } from './search.ts'
import { visibleAgents } from './which-session.ts'
import { workspaceOf } from './workspace.ts'

const agent = z
  .string()
  .max(100)
  .optional()
  .describe('Whose notes; the default agent when there are several.')
const note = z.object({
  agentId: z.string(),
  name: z.string(),
  path: z.string(),
  bytes: z.number(),
  changedAt: z.number(),
})

const list = operation({
  name: 'memory.list',
  says: 'List the notes that agents have made.',
  input: z.strictObject({ agent: z.string().max(100).optional().describe("Only this agent's.") }),
  output: z.object({ notes: z.array(note) }),
  scope: 'read',
  forAgents: true,
  command: { examples: ['rockpool memory list', 'rockpool memory list --agent main --json'] },
  async run(app, input, caller) {
    const agents = visibleAgents(app, caller, input.agent)
    const notes = agents.flatMap((agentId) =>
      listNotes(workspaceOf(app, agentId)).map((found) => ({ agentId, ...found })),
    )
    return { notes: notes.sort((a, b) => b.changedAt - a.changedAt) }
  },
})

const show = operation({
  name: 'memory.show',
  says: 'Show one note of an agent.',
  input: z.strictObject({
    name: z.string().min(1).max(1_000).describe('MEMORY.md, 2026-11-15 or memory/2026-11-15.md.'),
    agent,
  }),
  output: z.object({ agentId: z.string(), name: z.string(), path: z.string(), text: z.string() }),
  scope: 'read',
  forAgents: true,
  command: { positional: ['name'], examples: ['rockpool memory show MEMORY.md'] },
  async run(app, { name, agent }, caller) {
    const agentId = whose(app, caller, agent)
    const found = readNote(workspaceOf(app, agentId), name)
    if (found) return { agentId, ...found }
    throw new RockpoolError('not-found', `${agentId} has no note ${JSON.stringify(name)}.`, {
      hint: '`rockpool memory list` shows them.',
    })
  },
})

const add = operation({
  name: 'memory.add',
  says: "Add a paragraph to an agent's notes of today; what is there stays.",
  input: z.strictObject({
    text: z.string().trim().min(1).max(100_000).describe('What to remember.'),
    agent,
  }),
  output: z.object({ agentId: z.string(), name: z.string(), path: z.string() }),
  scope: 'write',
  acts: true,
  forAgents: true,
  command: { positional: ['text'], examples: ['rockpool memory add "Prefers green tea."'] },
  async run(app, { text, agent }, caller) {
    const agentId = whose(app, caller, agent)
    const day = dayOf(app.clock.now(), app.config.timeZone)
    return { agentId, ...addNote(workspaceOf(app, agentId), day, text) }
  },
})

export const operations: Operation[] = [list, show, add, searchMemory]

function whose(app: App, caller: Caller, wanted: string | undefined): string {
  const agents = visibleAgents(app, caller, wanted)
  return agents.length === 1 ? agents[0]! : defaultAgentId(app.config)
}

/** The day where the person is. */
function dayOf(now: number, timeZone: string | undefined): string {
  const zone = timeZone === undefined ? {} : { timeZone }
  const format = { year: 'numeric', month: '2-digit', day: '2-digit', ...zone } as const
  return new Intl.DateTimeFormat('en-CA', format).format(now)
}
