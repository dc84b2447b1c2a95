// The notes of agents: list them, show one, add to today's, and find something in them.
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { defaultAgentId } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import type { Caller, Operation } from '../operation.ts'
import { addNote, listFolder, listNotes, readNote } from '../../store/notes/notes.ts'
import type { NoteFile } from '../../store/notes/notes.ts'
import { searchMemory } from './search-sessions.ts'
import { visibleAgents } from '../sessions/which-session.ts'
import { workspaceOf } from '../../store/agents.ts'

const agent = z
  .string()
  .max(100)
  .optional()
  .describe('Whose notes; the default agent when there are several.')
const note = z.object({
  agentId: z.string().describe('Whose it is; `*` in a folder that all agents share.'),
  name: z.string(),
  path: z.string(),
  bytes: z.number(),
  changedAt: z.number(),
})

const list = operation({
  name: 'memory.list',
  description: 'List the notes that agents have made.',
  input: z.strictObject({ agent: z.string().max(100).optional().describe("Only this agent's.") }),
  output: z.object({ notes: z.array(note) }),
  scope: 'read',
  forAgents: true,
  command: { examples: ['rockpool memory list', 'rockpool memory list --agent main --json'] },
  async run(app, input, caller) {
    const agents = visibleAgents(app, caller, input.agent)
    await app.storage.notes.refresh(agents)
    const owned = agents.flatMap((agentId) => notesOf(app, agentId).map((found) => ({ agentId, ...found })))
    const shared = sharedNotes(app).map((found) => ({ agentId: '*', ...found }))
    const byPath = new Map([...owned, ...shared].map((found) => [found.path, found]))
    return { notes: [...byPath.values()].sort((a, b) => b.changedAt - a.changedAt) }
  },
})

const show = operation({
  name: 'memory.show',
  description: 'Show one note of an agent.',
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
    await app.storage.notes.refresh([agentId])
    const found = readNote([...notesOf(app, agentId), ...sharedNotes(app)], name)
    if (found) return { agentId, ...found }
    throw new RockpoolError('not-found', `${agentId} has no note ${JSON.stringify(name)}.`, {
      hint: '`rockpool memory list` shows them.',
    })
  },
})

const add = operation({
  name: 'memory.add',
  description: "Add a paragraph to an agent's notes of today; what is there stays.",
  input: z.strictObject({
    text: z.string().trim().min(1).max(100_000).describe('What to remember.'),
    agent,
  }),
  output: z.object({ agentId: z.string(), name: z.string(), path: z.string() }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: { positional: ['text'], joinsRest: true, examples: ['rockpool memory add "Prefers green tea."'] },
  async run(app, { text, agent }, caller) {
    const agentId = whose(app, caller, agent)
    const day = dayOf(app.clock.now(), app.config.timeZone)
    await app.storage.notes.refresh([agentId])
    const added = addNote(workspaceOf(app, agentId), day, text)
    // It is on disk; while the shared database is away the others get it later.
    await app.storage.notes.refresh([agentId])
    return { agentId, ...added }
  },
})

const status = operation({
  name: 'memory.status',
  description:
    'Show how much can be found: what is indexed, what is still being read, and which languages meaning knows.',
  input: z.strictObject({}),
  output: z.object({
    sources: z.number(),
    passages: z.number(),
    spoken: z.number().describe('Passages of people, agents and notes; only these are compared by meaning.'),
    withPieces: z.number().describe('Passages that are found by a part of a word.'),
    withVector: z.number().describe('Passages that are found by meaning.'),
    withoutTools: z.number().describe('Files of which it is not indexed yet what tools said.'),
    reading: z
      .object({
        filesDone: z.number(),
        files: z.number(),
        bytesRead: z.number(),
        passages: z.number(),
      })
      .optional(),
    meaning: z.object({ name: z.string(), languages: z.string() }).optional(),
    lack: z.string().optional().describe('Why nothing is found by meaning.'),
  }),
  scope: 'read',
  operatorOnly: true,
  heavyParts: ['discovery', 'search'],
  command: { examples: ['rockpool memory status'] },
  run: async (app) => app.search().status(),
})

const rebuild = operation({
  name: 'memory.rebuild',
  description: 'Throw the search index away and read everything again; no transcript and no note is touched.',
  input: z.strictObject({}),
  output: z.object({ files: z.number(), passages: z.number(), bytesRead: z.number() }),
  scope: 'admin',
  changesState: true,
  heavyParts: ['discovery', 'search'],
  command: { examples: ['rockpool memory rebuild'] },
  async run(app) {
    const { files, passages, bytesRead } = await app.search().rebuild()
    return { files, passages, bytesRead }
  },
})

export const operations: Operation[] = [list, show, add, searchMemory, status, rebuild]

function whose(app: App, caller: Caller, wanted: string | undefined): string {
  const agents = visibleAgents(app, caller, wanted)
  return agents.length === 1 ? agents[0]! : defaultAgentId(app.config)
}

/** In the workspace, and in the folder of the agent itself. */
function notesOf(app: App, agentId: string): NoteFile[] {
  return [...listNotes(workspaceOf(app, agentId)), ...listFolder(join(app.paths.agent(agentId), 'memory'))]
}

function sharedNotes(app: App): NoteFile[] {
  return app.config.memory.folders.flatMap((folder) => listFolder(resolve(app.paths.root, folder)))
}

/** The day where the person is. */
function dayOf(now: number, timeZone: string | undefined): string {
  const zone = timeZone === undefined ? {} : { timeZone }
  const format = { year: 'numeric', month: '2-digit', day: '2-digit', ...zone } as const
  return new Intl.DateTimeFormat('en-CA', format).format(now)
}
