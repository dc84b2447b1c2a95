// Export a transcript as JSONL, Markdown or HTML; import the sessions of an OpenClaw, or one exported file.
import { z } from 'zod'
import { defaultAgentId } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { exportSession } from '../../sessions/export.ts'
import { importSession } from '../../sessions/import.ts'
import { fileSize, isFile, readTextFile } from '../../store/disk/foreign-file.ts'
import { importOpenClaw } from '../../store/openclaw/openclaw-import.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { agentFlag, findSession, partsOf, whichSession } from './which-session.ts'
import { flag } from '../input-fields.ts'

const exportSessionText = operation({
  name: 'sessions.export',
  description: 'Give a whole transcript as JSONL, Markdown or HTML, without secrets.',
  input: z.strictObject({
    ...whichSession,
    format: z.enum(['jsonl', 'markdown', 'html']).default('markdown').describe('The format of the text.'),
  }),
  output: z.object({ key: z.string(), sessionId: z.string(), format: z.string(), text: z.string() }),
  scope: 'read',
  largeOutput: true,
  command: {
    positional: ['key'],
    flags: agentFlag,
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

/** In characters. The answer is in memory several times until it is sent. */
const maxExport = 64 * 1024 * 1024

export async function joined(pieces: AsyncIterable<string>, key: string): Promise<string> {
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
  description: 'Import the sessions of an OpenClaw, or one session from a file; nothing is overwritten.',
  input: z.strictObject({
    from: z.string().optional().describe("OpenClaw's state directory (~/.openclaw by default), or a file."),
    agentId: z.string().optional().describe('Only this agent; for a file, the agent that gets it.'),
    key: z.string().optional().describe('For a file: the key of the session.'),
    dryRun: flag('Only show what would be imported.'),
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
    flags: agentFlag,
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
  const imported = await importSession(partsOf(app, { agentId }), readTextFile(file), { key })
  return { key: imported.session.key, agentId, entries: imported.entries, damage: imported.damage }
}

export const operations = [exportSessionText, importSessions]
