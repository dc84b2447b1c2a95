// The operations that the plugin in OpenClaw calls: it reports OpenClaw's agents, acknowledges deliveries and answers questions.
// Deliveries and questions reach the plugin by the subscription `openclaw`.
import { z } from 'zod'
import { openclawPrefix } from '../../domain/agent.ts'
import { operation } from '../operation.ts'
import { readReport } from './read-report.ts'
import { readTokenRecords } from '../../store/gateway-tokens.ts'
import { readOpenClawReport, writeOpenClawReport } from '../../store/openclaw/openclaw-report.ts'

/** For operations that only OpenClaw's plugin calls. The plugin is not an agent, and its token may approve. */
const plugin = {
  scope: 'approve',
  forHosts: 'only',
  changesState: true,
  needsGateway: true,
  heavyParts: [],
  command: { hidden: true },
} as const

const hello = operation({
  name: 'openclaw.hello',
  description: "Report OpenClaw's agents and their Claude Code settings; a later report replaces it.",
  input: z.strictObject({
    version: z.string().max(64).describe('The version of OpenClaw.'),
    pluginVersion: z.string().max(64).describe('The version of the plugin.'),
    agents: z
      .array(
        z.strictObject({
          id: z.string().max(64),
          workspace: z.string().max(4_096).optional(),
          claudeCode: z.record(z.string(), z.unknown()).optional(),
        }),
      )
      .max(200)
      .describe('`agents.list` of its configuration, with absolute paths.'),
  }),
  output: z.object({
    ok: z.boolean(),
    ignored: z.array(z.string()).describe('Settings that Rockpool does not use, and why.'),
  }),
  ...plugin,
  async run(app, { version, pluginVersion, agents }) {
    const { agents: read, ignored } = readReport(app, agents)
    writeOpenClawReport(app.paths, { version, pluginVersion, at: app.clock.now(), agents: read })
    return { ok: true, ignored }
  },
})

const delivered = operation({
  name: 'openclaw.delivered',
  description: 'Acknowledge a delivery, refuse it, or ask for it again later.',
  input: z.strictObject({
    id: z.string().max(64).describe('The delivery.'),
    messageIds: z
      .array(z.string().max(256))
      .max(100)
      .optional()
      .describe("The platform's ids of the messages."),
    refused: z.string().max(2_000).optional().describe('Why it cannot be delivered.'),
    retryAfterMs: z.int().min(0).max(3_600_000).optional().describe('Offer it again after this time.'),
  }),
  output: z.object({ ok: z.boolean().describe('False if the delivery is not open any more.') }),
  ...plugin,
  async run(app, { id, ...acknowledgement }) {
    return { ok: app.openclaw.acknowledge(id, acknowledgement) }
  },
})

const answer = operation({
  name: 'openclaw.answer',
  description: 'Answer a question about a conversation or the memory of an agent of OpenClaw.',
  input: z.strictObject({
    id: z.string().max(64).describe('The question.'),
    lines: z
      .array(
        z.strictObject({
          role: z.enum(['user', 'assistant']),
          text: z.string(),
          at: z.string().max(64).optional(),
        }),
      )
      .max(500)
      .optional()
      .describe('The conversation, oldest first.'),
    hits: z
      .array(z.strictObject({ source: z.string().max(1_024), text: z.string() }))
      .max(100)
      .optional()
      .describe('What was found in the memory.'),
    error: z.string().max(2_000).optional().describe('Why there is no answer.'),
  }),
  output: z.object({ ok: z.boolean().describe('False if the question is not open any more.') }),
  ...plugin,
  async run(app, { id, ...said }) {
    return { ok: app.openclaw.answer(id, said) }
  },
})

const connection = operation({
  name: 'openclaw.connection',
  description: 'Show whether the plugin in OpenClaw is connected, and what it reported last.',
  input: z.strictObject({}),
  output: z.object({
    connected: z.boolean(),
    version: z.string().optional().describe('Of OpenClaw.'),
    pluginVersion: z.string().optional(),
    reportedAt: z.number().optional(),
    agents: z.array(z.object({ id: z.string(), workspace: z.string().optional() })),
    tokens: z.array(z.string()).describe('The names of the tokens that the plugin has.'),
  }),
  scope: 'admin',
  heavyParts: [],
  command: { hidden: true },
  async run(app) {
    const { version, pluginVersion, at, agents = [] } = readOpenClawReport(app.paths) ?? {}
    const tokens = readTokenRecords(app.paths.root).filter((record) => record.agents !== undefined)
    return {
      connected: app.openclaw.isConnected,
      version,
      pluginVersion,
      reportedAt: at,
      agents: agents.map(({ id, workspace }) => ({ id: `${openclawPrefix}${id}`, workspace })),
      tokens: tokens.map(({ name }) => name),
    }
  },
})

export const operations = [hello, delivered, answer, connection]
