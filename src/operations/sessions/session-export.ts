// Sessions in and out: a transcript as JSONL, Markdown or HTML; the sessions of an OpenClaw taken over; and what has
// become too old or too much put away.
import { z } from 'zod'
import { defaultAgentId } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { applyCleanup, planCleanup } from '../../sessions/cleanup.ts'
import type { CleanupPlan } from '../../sessions/cleanup.ts'
import { exportSession } from '../../sessions/export.ts'
import { importSession } from '../../sessions/import.ts'
import { fileSize, isFile, readTextFile } from '../../store/disk/given-file.ts'
import { importOpenClaw } from '../../store/openclaw/openclaw-import.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { partsOf } from './session-parts.ts'
import { findSession, visibleAgents } from './which-session.ts'

const exportOne = operation({
  name: 'sessions.export',
  description: 'Give a whole transcript as JSONL, Markdown or HTML, without secrets.',
  input: z.strictObject({
    key: z.string().min(1).max(2000).describe('Key, id, beginning of an id, or label.'),
    agentId: z.string().optional().describe('Look only at this agent.'),
    format: z.enum(['jsonl', 'markdown', 'html']).default('markdown').describe('As what.'),
  }),
  output: z.object({
    key: z.string(),
    sessionId: z.string(),
    format: z.string(),
    text: z.string(),
  }),
  scope: 'read',
  largeOutput: true,
  command: {
    positional: ['key'],
    flags: { agentId: 'agent' },
    examples: ['rockpool sessions export main --format html > main.html'],
  },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const redact = (text: string): string => app.redactor().everything(text)
    const pieces = exportSession(app.storage.transcripts(session.agentId), session, input.format, { redact })
    return {
      key: session.key,
      sessionId: session.entry.sessionId,
      format: input.format,
      text: await joined(pieces, session.key),
    }
  },
})

/** An answer is held in memory several times over until it is sent, so an export has a limit, in characters. */
const maxExport = 64 * 1024 * 1024

async function joined(pieces: AsyncIterable<string>, key: string): Promise<string> {
  const parts: string[] = []
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > maxExport)
      throw new RockpoolError('refused', `The export of ${key} has more than ${maxExport >> 20} MiB.`, {
        hint: '`rockpool history --limit 1000` reads it page by page; `sessions show` names its file.',
      })
    parts.push(piece)
  }
  return parts.join('')
}

const counts = z.object({ found: z.number(), added: z.number(), changed: z.number(), kept: z.number() })

const importSessions = operation({
  name: 'sessions.import',
  description:
    'Take over the sessions of an OpenClaw, or one session from a file; nothing here is overwritten.',
  input: z.strictObject({
    from: z
      .string()
      .optional()
      .describe("OpenClaw's state directory (~/.openclaw unless given), or an exported file."),
    agentId: z.string().optional().describe('Only this agent; for a file, the agent that gets it.'),
    key: z.string().optional().describe('For a file: the key of the session.'),
    dryRun: z.boolean().default(false).describe('Only say what would be done.'),
  }),
  output: z.object({
    from: z.string(),
    dryRun: z.boolean(),
    agents: z
      .array(
        z.object({
          agentId: z.string(),
          sessions: counts,
          transcripts: counts,
          problems: z.array(z.string()),
        }),
      )
      .optional(),
    session: z
      .object({ key: z.string(), agentId: z.string(), entries: z.number(), damage: z.array(z.string()) })
      .optional(),
  }),
  scope: 'admin',
  changesState: true,
  command: {
    positional: ['from'],
    flags: { agentId: 'agent' },
    paths: ['from'],
    examples: [
      'rockpool sessions import --dry-run',
      'rockpool sessions import ~/.openclaw',
      'rockpool sessions import talk.jsonl',
    ],
  },
  async run(app, input) {
    const from = input.from ?? app.environment.openclawStateDir
    const { dryRun } = input
    if (isFile(from)) return { from, dryRun, session: await importFile(app, from, input) }
    const { agents } = await importOpenClaw(from, {
      dryRun,
      clock: app.clock,
      agentId: input.agentId,
      sessions: (agentId) => app.storage.sessions(agentId),
      folder: (agentId) => app.paths.sessions(agentId),
    })
    return { from, dryRun, agents }
  },
})

const maxImportBytes = 256 * 1024 * 1024

async function importFile(
  app: App,
  file: string,
  { agentId = defaultAgentId(app.config), key, dryRun }: { agentId?: string; key?: string; dryRun: boolean },
): Promise<{ key: string; agentId: string; entries: number; damage: string[] }> {
  if (dryRun) throw new RockpoolError('usage', 'A file is imported or not; there is no dry run for it.')
  if (fileSize(file) > maxImportBytes) throw new RockpoolError('refused', `${file} is larger than 256 MiB.`)
  const { session, entries, damage } = await importSession(partsOf(app, { agentId }), readTextFile(file), {
    key,
  })
  return { key: session.key, agentId, entries, damage }
}

const cleanup = operation({
  name: 'sessions.cleanup',
  description: 'Say which sessions and archives are too old or too many; with --enforce put them away.',
  input: z.strictObject({
    agentId: z.string().optional().describe('Only this agent.'),
    enforce: z.boolean().default(false).describe('Do it. Without this, nothing changes.'),
    pruneAfterDays: z.number().min(1).optional().describe('Older than this.'),
    maxEntries: z.int().min(1).optional().describe('Beyond this many sessions.'),
    maxDiskBytes: z.int().min(1).optional().describe('Beyond this much disk.'),
  }),
  output: z.object({
    dryRun: z.boolean(),
    agents: z.array(z.object({ agentId: z.string(), failed: z.array(z.string()) })),
  }),
  scope: 'admin',
  changesState: true,
  command: {
    flags: { agentId: 'agent' },
    examples: ['rockpool sessions cleanup', 'rockpool sessions cleanup --prune-after-days 90 --enforce'],
  },
  async run(app, input, caller) {
    const { agentId, enforce, ...given } = input
    const limits = { ...app.config.session.maintenance, ...given }
    const agents = []
    for (const id of visibleAgents(app, caller, agentId))
      agents.push(await cleanAgent(app, id, limits, enforce))
    return { dryRun: !enforce, agents }
  },
})

async function cleanAgent(
  app: App,
  agentId: string,
  limits: Parameters<typeof planCleanup>[1],
  enforce: boolean,
): Promise<CleanupPlan & { agentId: string; failed: string[] }> {
  const parts = partsOf(app, { agentId })
  const plan = await planCleanup(parts, limits)
  return { agentId, ...plan, failed: enforce ? await applyCleanup(parts, plan) : [] }
}

export const exchangeOperations = [exportOne, importSessions, cleanup]
