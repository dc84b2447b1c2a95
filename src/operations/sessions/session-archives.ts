// sessions.archives: the conversations that a reset or a deletion put away, so that one can be named and brought back, and
// what `sessions compact --max-lines` cut off, which `sessions lost` gives.
import { z } from 'zod'
import { readArchiveNote } from '../../sessions/archive-note.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { visibleAgents } from './which-session.ts'

const archive = z.object({
  name: z.string(),
  agentId: z.string(),
  sessionId: z.string(),
  key: z.string().optional(),
  label: z.string().optional(),
  reason: z.enum(['reset', 'deleted', 'shortened']),
  at: z.number(),
  bytes: z.number(),
})

export type ArchiveRow = z.output<typeof archive>

export const listArchives = operation({
  name: 'sessions.archives',
  description:
    'List the conversations that a reset or a deletion put away, and what was cut off, the newest first.',
  input: z.strictObject({
    agentId: z.string().optional().describe('Only this agent.'),
    limit: z.int().min(1).max(1000).default(50).describe('How many at most.'),
  }),
  output: z.object({ total: z.number(), archives: z.array(archive) }),
  scope: 'read',
  command: { flags: { agentId: 'agent' }, examples: ['rockpool sessions archives'] },
  async run(app, input, caller) {
    const agents = visibleAgents(app, caller, input.agentId)
    const found = (await Promise.all(agents.map((agentId) => archivesOf(app, agentId)))).flat()
    found.sort((a, b) => b.at - a.at)
    const archives: ArchiveRow[] = []
    for (const one of found.slice(0, input.limit)) archives.push({ ...one, ...(await whoseIs(app, one)) })
    return { total: found.length, archives }
  },
})

async function archivesOf(app: App, agentId: string): Promise<ArchiveRow[]> {
  const all = await app.storage.transcripts(agentId).archives()
  return all.map(({ name, sessionId, reason, at, bytes }) => {
    return { name, agentId, sessionId, reason: reason === 'bak' ? 'shortened' : reason, at, bytes }
  })
}

/** Archives of other programs do not say. */
async function whoseIs(app: App, archived: ArchiveRow): Promise<Pick<ArchiveRow, 'key' | 'label'>> {
  const { agentId, name, sessionId, reason } = archived
  if (reason === 'shortened') {
    const [session] = await app.storage.sessions(agentId).find(sessionId)
    return session ? { key: session.key, label: session.entry.label } : {}
  }
  const transcripts = app.storage.transcripts(agentId)
  const note = await readArchiveNote(transcripts, await transcripts.archiveRef(name))
  return note ? { key: note.key, label: note.entry.label } : {}
}
