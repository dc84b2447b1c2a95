// sessions.patch: the settings of one session. `null` resets a setting.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import type { Session, SessionEntry } from '../../domain/session.ts'
import { isSubagentSessionKey } from '../../domain/session-key-forms.ts'
import { recordSettingChanges } from '../../sessions/transcript-changes.ts'
import type { App } from '../app.ts'
import { knownModel } from '../turns/known-model.ts'
import { operation, type Caller } from '../operation.ts'
import {
  agentFlag,
  ambiguous,
  findSessions,
  spellKey,
  storedEntry,
  visibleAgents,
  whichSession,
} from './which-session.ts'
import { parseSessionLabel } from '../../sessions/label.ts'
import { thinkingLevels } from '../input-fields.ts'

const oneOf = <const T extends readonly [string, ...string[]]>(values: T, description: string) =>
  z.enum(values).nullable().optional().describe(description)
const line = (description: string) =>
  z.string().trim().min(1).max(200).nullable().optional().describe(description)

/** A setting of OpenClaw; here Claude Code's own rules and `permissionMode` decide instead. */
const unused = (description: string): string => `Stored for OpenClaw, without effect here: ${description}.`

const settings = {
  label: z.string().nullable().optional().describe('A name of your own, unique within an agent.'),
  model: line('The model, or `provider/model`.'),
  thinkingLevel: oneOf(thinkingLevels, 'How much to think.'),
  verboseLevel: oneOf(['on', 'off', 'full'], 'Whether to show tool use.'),
  reasoningLevel: oneOf(['on', 'off', 'stream'], 'Whether to show thoughts.'),
  elevatedLevel: oneOf(['on', 'off', 'ask', 'full'], unused('whether commands may run outside the sandbox')),
  responseUsage: oneOf(['on', 'off', 'tokens', 'full'], 'Whether replies show their cost.'),
  sendPolicy: oneOf(['allow', 'deny'], 'Whether to send replies.'),
  groupActivation: oneOf(['mention', 'always'], 'When the agent answers in a group.'),
  execHost: line(unused('where commands run')),
  execSecurity: line(unused('which commands may run')),
  execAsk: line(unused('which commands are asked about')),
  execNode: line(unused('the node on which commands run')),
  queueMode: oneOf(
    ['steer', 'followup', 'collect', 'interrupt', 'steer-backlog', 'queue'],
    'How to treat messages that arrive while the agent is busy.',
  ),
  spawnedBy: line('The session that started this sub-agent; can be set once.'),
  spawnDepth: z.int().min(0).max(20).nullable().optional().describe('Its depth below the first session.'),
  pinned: z.boolean().optional().describe('Whether to keep it in a cleanup.'),
}

const patchInput = z.strictObject({
  key: whichSession.key,
  agentId: z.string().optional().describe('The agent, when the key does not say.'),
  ...settings,
  expectedSessionId: z.string().optional().describe('Refuse if the session now has another id.'),
})

type PatchInput = z.output<typeof patchInput>
type Named = Pick<Session, 'key' | 'agentId'>

const patchOutput = z.object({
  ok: z.literal(true),
  path: z.string(),
  key: z.string(),
  entry: storedEntry(),
  resolved: z.object({ modelProvider: z.string(), model: z.string().nullable() }),
  /** Settings of this call that are stored for OpenClaw and change nothing here. */
  withoutEffect: z.array(z.string()).optional(),
})

const patchSession = operation({
  name: 'sessions.patch',
  description: 'Change the settings of a session.',
  input: patchInput,
  output: patchOutput,
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['key'],
    flags: agentFlag,
    examples: [
      'rockpool sessions patch main --label home --thinking-level high',
      'rockpool sessions patch main --label ""',
    ],
  },
  run: patch,
})

async function patch(app: App, input: PatchInput, caller: Caller): Promise<z.input<typeof patchOutput>> {
  const { key, agentId } = await targetOf(app, input, caller)
  if (input.model) input.model = knownModel(app, input.model)
  if (typeof input.label === 'string') input.label = checkedLabel(app, input.label)
  const ignored = withoutEffect(input)
  const now = app.clock.now()
  let before: SessionEntry | undefined
  const entry = await app.storage.sessions(agentId).update(key, (current) => {
    before = current
    checkExpected(current, input)
    const base: SessionEntry = current ?? { sessionId: randomUUID(), updatedAt: now, sessionStartedAt: now }
    return { ...apply(base, key, input, now), updatedAt: Math.max(base.updatedAt, now) }
  })
  const agentModel = app.config.agents.defaults.model
  await recordSettingChanges(app.storage.transcripts(agentId), { key, before, entry: entry! }, agentModel)
  app.events.emit({ type: 'session-changed', agentId, key, why: 'patch' })
  const model = entry?.modelOverride ?? entry?.model ?? app.config.agents.defaults.model ?? null
  return {
    ok: true,
    path: app.paths.sessionsJson(agentId),
    key,
    entry: entry!,
    resolved: { modelProvider: entry?.providerOverride ?? entry?.modelProvider ?? 'anthropic', model },
    withoutEffect: ignored.length > 0 ? ignored : undefined,
  }
}

/** An existing session, or the key of a new one. */
async function targetOf(app: App, input: PatchInput, caller: Caller): Promise<Named> {
  const found = await findSessions(app, caller, input.key, input.agentId)
  if (found.length === 1) return found[0]!
  if (found.length > 1) throw ambiguous(input.key, found)
  const spelled = spellKey(app, input.key)
  const agentId = input.agentId ?? spelled.agentId
  visibleAgents(app, caller, agentId)
  return { key: spelled.key, agentId }
}

function checkExpected(before: SessionEntry | undefined, { key, expectedSessionId }: PatchInput): void {
  if (expectedSessionId === undefined || before?.sessionId === expectedSessionId) return
  throw new RockpoolError('conflict', `${key} is no longer the session ${expectedSessionId}.`, {
    hint: 'Look at it again; it was probably reset meanwhile.',
  })
}

function apply(entry: SessionEntry, key: string, input: PatchInput, now: number): SessionEntry {
  const next: SessionEntry = { ...entry }
  for (const field of Object.keys(settings) as Array<keyof typeof settings>) {
    const value = input[field]
    if (value === undefined) continue
    if (field === 'model') setModel(next, value as string | null)
    else if (field === 'pinned') setField(next, 'pinnedAt', value ? (next.pinnedAt ?? now) : null)
    else if (field === 'spawnedBy') setSpawnedBy(next, key, value as string | null)
    else setField(next, field, value)
  }
  return next
}

function setField(entry: SessionEntry, field: string, value: unknown): void {
  if (value === null) delete entry[field]
  else entry[field] = value
}

function setModel(entry: SessionEntry, model: string | null): void {
  const [, provider, name] = model?.match(/^([^/]+)\/(.+)$/) ?? []
  setField(entry, 'modelOverride', model === null ? null : (name ?? model))
  setField(entry, 'providerOverride', provider ?? null)
}

function setSpawnedBy(entry: SessionEntry, key: string, value: string | null): void {
  if (!isSubagentSessionKey(key))
    throw new RockpoolError('input-invalid', 'spawnedBy can only be set on the session of a sub-agent.')
  if (entry.spawnedBy !== undefined && entry.spawnedBy !== value)
    throw new RockpoolError('refused', 'spawnedBy cannot be changed once it is set.')
  setField(entry, 'spawnedBy', value)
}

/** Throws an error that names the problem when the label is not valid. */
export function checkedLabel({ config }: Pick<App, 'config'>, raw: unknown): string {
  const parsed = parseSessionLabel(raw, config.session)
  if (parsed.ok) return parsed.label
  throw new RockpoolError('input-invalid', `${parsed.error}.`, {
    hint: 'A label is one short line of visible characters that is no key.',
  })
}

// OpenClaw's settings for the sandbox, speech and log-ins: stored so that OpenClaw finds them again.
const ignoredSettings = /^(?:exec(?:Host|Security|Ask|Node)|elevatedLevel|ttsAuto|authProfileOverride\w*)$/

/** The settings among these fields that have no effect in Rockpool. */
export function withoutEffect(fields: Readonly<Record<string, unknown>>): string[] {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)
  return set.map(([name]) => name).filter((name) => ignoredSettings.test(name))
}

export const operations = [patchSession]
