// The notes of agents: list, show, add, search; and the state of the search index.
import { resolve } from 'node:path'
import { z } from 'zod'
import { defaultAgentId } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { dayIn } from '../../domain/local-time.ts'
import { searchStatus } from '../../domain/search.ts'
import type { App } from '../app.ts'
import { operation, type Caller, type Operation } from '../operation.ts'
import {
  addNote,
  listFolder,
  listMemory,
  listNotes,
  readNote,
  type NoteFile,
} from '../../store/notes/notes.ts'
import { searchMemory } from './search-sessions.ts'
import { visibleAgents } from '../sessions/which-session.ts'
import { workspaceOf } from '../../store/agents.ts'
import { agentField } from '../input-fields.ts'

const agent = agentField().describe('The agent; the default agent when there are several.')
const note = z.object({
  agentId: z.string().describe('The owner; `*` in a folder that all agents share.'),
  name: z.string(),
  path: z.string(),
  bytes: z.number(),
  changedAt: z.number(),
})

const list = operation({
  name: 'memory.list',
  description: 'List the notes of agents.',
  input: z.strictObject({ agent: agentField().describe("Only this agent's.") }),
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
    const agentId = ownerOf(app, caller, agent)
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
  description: "Add a paragraph to an agent's notes of today.",
  input: z.strictObject({ text: z.string().trim().min(1).max(100_000).describe('The text.'), agent }),
  output: z.object({ agentId: z.string(), name: z.string(), path: z.string() }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: { positional: ['text'], joinsRest: true, examples: ['rockpool memory add "Prefers green tea."'] },
  async run(app, { text, agent }, caller) {
    const agentId = ownerOf(app, caller, agent)
    const day = dayIn(app.config.timeZone)(app.clock.now())
    await app.storage.notes.refresh([agentId])
    const added = addNote(workspaceOf(app, agentId), day, text)
    // The note is on disk; while the shared database is away, other machines get it later.
    await app.storage.notes.refresh([agentId])
    return { agentId, ...added }
  },
})

const status = operation({
  name: 'memory.status',
  description:
    'Show the state of the search index: what is indexed, what is still read, languages of the model.',
  input: z.strictObject({}),
  output: searchStatus,
  scope: 'read',
  operatorOnly: true,
  heavyParts: ['discovery', 'search'],
  command: { examples: ['rockpool memory status'] },
  run: async (app) => app.search().status(),
})

const rebuild = operation({
  name: 'memory.rebuild',
  description: 'Delete the search index and read everything again; transcripts and notes stay unchanged.',
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

function ownerOf(app: App, caller: Caller, wanted: string | undefined): string {
  const agents = visibleAgents(app, caller, wanted)
  return agents.length === 1 ? agents[0]! : defaultAgentId(app.config)
}

/** Notes in the workspace and in the folder of the agent. */
function notesOf(app: App, agentId: string): NoteFile[] {
  return [...listNotes(workspaceOf(app, agentId)), ...listMemory(app.paths.agent(agentId))]
}

function sharedNotes(app: App): NoteFile[] {
  return app.config.memory.folders.flatMap((folder) => listFolder(resolve(app.paths.root, folder)))
}
