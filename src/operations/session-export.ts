// Sessions in and out: a transcript as JSONL, Markdown or HTML; the sessions of an OpenClaw taken over; and what has
// become too old or too much put away.
import { z } from 'zod'
import { makeRedactor } from '../domain/redact.ts'
import type { TranscriptEntry } from '../domain/transcript.ts'
import { applyCleanup, planCleanup } from '../sessions/cleanup.ts'
import type { CleanupPlan } from '../sessions/cleanup.ts'
import { importOpenClaw } from '../store/openclaw-import.ts'
import { transcriptOf } from '../store/transcript-paths.ts'
import type { App } from './app.ts'
import { operation } from './operation.ts'
import { partsOf } from './session-life.ts'
import { textOf } from './session-preview.ts'
import { findSession, visibleAgents } from './which-session.ts'

const exportSession = operation({
  name: 'sessions.export',
  says: 'Give a whole transcript as JSONL, Markdown or HTML, without secrets.',
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
    damage: z.array(z.string()),
  }),
  scope: 'read',
  command: {
    positional: ['key'],
    flags: { agentId: 'agent' },
    examples: ['rockpool sessions export main --format html > main.html'],
  },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const transcripts = app.transcripts(session.agentId)
    const ref = transcriptOf(session)
    const damage: string[] = []
    const entries: TranscriptEntry[] = []
    if (await transcripts.exists(ref)) {
      const read =
        input.format === 'jsonl' ? transcripts.read(ref, note) : transcripts.path(ref, undefined, note)
      for await (const entry of read) entries.push(entry)
    }
    function note(what: string): void {
      damage.push(what)
    }
    const title = session.entry.label ?? session.entry.displayName ?? session.key
    const header = await transcripts.header(ref).catch(() => undefined)
    const text = { jsonl: asJsonl, markdown: asMarkdown, html: asHtml }[input.format](entries, title, header)
    const { key, entry } = session
    return {
      key,
      sessionId: entry.sessionId,
      format: input.format,
      text: makeRedactor().everything(text),
      damage,
    }
  },
})

function asJsonl(entries: TranscriptEntry[], _title: string, header: unknown): string {
  return [...(header ? [header] : []), ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join('')
}

interface Said {
  who: string
  when: string
  text: string
}

function saidIn(entries: TranscriptEntry[]): Said[] {
  return entries.flatMap((entry) => {
    const when = entry.timestamp.slice(0, 19).replace('T', ' ')
    if (entry.type === 'compaction') return [{ who: 'Compacted', when, text: entry.summary }]
    if (entry.type !== 'message') return []
    const text = textOf(entry.message)
    const who = {
      user: 'User',
      assistant: 'Assistant',
      toolResult: 'Tool',
      bashExecution: 'Shell',
      custom: 'Note',
    }
    return text === '' ? [] : [{ who: who[entry.message.role], when, text }]
  })
}

function asMarkdown(entries: TranscriptEntry[], title: string): string {
  const parts = saidIn(entries).map(({ who, when, text }) => `## ${who} · ${when}\n\n${text}\n`)
  return [`# ${title.replace(/\s+/g, ' ')}\n`, ...parts].join('\n')
}

/** Text only: whatever was said is shown, never run. */
function asHtml(entries: TranscriptEntry[], title: string): string {
  const style =
    'body{font:16px/1.5 system-ui;max-width:48rem;margin:2rem auto;padding:0 1rem}pre{white-space:pre-wrap}'
  const parts = saidIn(entries).map(
    ({ who, when, text }) =>
      `<section><h2>${escaped(who)} <small>${escaped(when)}</small></h2><pre>${escaped(text)}</pre></section>`,
  )
  const policy = `<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">`
  const head = `<!doctype html><meta charset="utf-8">${policy}<title>${escaped(title)}</title><style>${style}</style>`
  return `${head}<h1>${escaped(title)}</h1>\n${parts.join('\n')}\n`
}

function escaped(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  }
  return text.replace(/[&<>"']/g, (character) => entities[character]!)
}

const counts = z.object({ found: z.number(), added: z.number(), changed: z.number(), kept: z.number() })

const importSessions = operation({
  name: 'sessions.import',
  says: 'Take over the sessions of an OpenClaw; nothing there is changed, nothing here is overwritten.',
  input: z.strictObject({
    stateDir: z.string().optional().describe("OpenClaw's state directory; ~/.openclaw unless given."),
    agentId: z.string().optional().describe('Only this agent.'),
    dryRun: z.boolean().default(false).describe('Only say what would be done.'),
  }),
  output: z.object({
    stateDir: z.string(),
    dryRun: z.boolean(),
    agents: z.array(
      z.object({
        agentId: z.string(),
        sessions: counts,
        transcripts: counts,
        problems: z.array(z.string()),
      }),
    ),
  }),
  scope: 'admin',
  acts: true,
  command: {
    positional: ['stateDir'],
    flags: { agentId: 'agent' },
    paths: ['stateDir'],
    examples: ['rockpool sessions import --dry-run', 'rockpool sessions import ~/.openclaw'],
  },
  async run(app, input) {
    return importOpenClaw(input.stateDir ?? app.environment.openclawStateDir, {
      dryRun: input.dryRun,
      agentId: input.agentId,
      sessions: (agentId) => app.sessions(agentId),
      folder: (agentId) => app.paths.sessions(agentId),
    })
  },
})

const cleanup = operation({
  name: 'sessions.cleanup',
  says: 'Say which sessions and archives are too old or too many; with --enforce put them away.',
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
  acts: true,
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

export const exchangeOperations = [exportSession, importSessions, cleanup]
