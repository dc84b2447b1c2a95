// sessions.patch: the settings of one session. `null` takes a setting back.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { isSubagentSessionKey } from '../../domain/session-key-forms.ts'
import { recordSettingChanges } from '../../sessions/setting-changes.ts'
import type { App } from '../app.ts'
import { checkedLabel } from './checked-label.ts'
import { knownModel } from '../turns/known-model.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'
import { findSessions, spellKey, visibleAgents } from './which-session.ts'
import { withoutEffect } from './ignored-settings.ts'

const levels = <const T extends readonly [string, ...string[]]>(values: T, description: string) =>
  z.enum(values).nullable().optional().describe(description)
const words = (description: string) =>
  z.string().trim().min(1).max(200).nullable().optional().describe(description)

/** What OpenClaw decides with it; here Claude Code's own rules and `permissionMode` decide. */
const kept = (description: string): string => `Kept for OpenClaw, without effect here: ${description}.`

const settings = {
  label: z.string().nullable().optional().describe('A name of your own; one of a kind within an agent.'),
  model: words('The model, or `provider/model`.'),
  thinkingLevel: levels(['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'], 'How much to think.'),
  verboseLevel: levels(['on', 'off', 'full'], 'Whether tool use is shown.'),
  reasoningLevel: levels(['on', 'off', 'stream'], 'Whether thoughts are shown.'),
  elevatedLevel: levels(['on', 'off', 'ask', 'full'], kept('whether commands may run outside the sandbox')),
  responseUsage: levels(['on', 'off', 'tokens', 'full'], 'Whether replies say what they cost.'),
  sendPolicy: levels(['allow', 'deny'], 'Whether replies go out.'),
  groupActivation: levels(['mention', 'always'], 'When the agent answers in a group.'),
  execHost: words(kept('where commands run')),
  execSecurity: words(kept('which commands may run')),
  execAsk: words(kept('which commands are asked about')),
  execNode: words(kept('the node on which commands run')),
  queueMode: levels(
    ['steer', 'followup', 'collect', 'interrupt', 'steer-backlog', 'queue'],
    'What happens to messages that come while the agent is busy.',
  ),
  spawnedBy: words('The session that began this sub-agent; set once.'),
  spawnDepth: z.int().min(0).max(20).nullable().optional().describe('How deep in sub-agents it is.'),
  pinned: z.boolean().optional().describe('Kept when others are cleaned up.'),
}

const patchInput = z.strictObject({
  key: z.string().min(1).max(2000).describe('Key, id, beginning of an id, or label.'),
  agentId: z.string().optional().describe('The agent, when the key does not say.'),
  ...settings,
  expectedSessionId: z.string().optional().describe('Refuse if the session has another id by now.'),
})

type PatchInput = z.output<typeof patchInput>

const patchOutput = z.object({
  ok: z.literal(true),
  path: z.string(),
  key: z.string(),
  entry: z.looseObject({ sessionId: z.string(), updatedAt: z.number() }),
  resolved: z.object({ modelProvider: z.string(), model: z.string().nullable() }),
  /** Settings of this call that are stored for OpenClaw and change nothing here. */
  withoutEffect: z.array(z.string()).optional(),
})

export const patchSession = operation({
  name: 'sessions.patch',
  description: 'Change the settings of a session.',
  input: patchInput,
  output: patchOutput,
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['key'],
    flags: { agentId: 'agent' },
    examples: [
      'rockpool sessions patch main --label home --thinking-level high',
      'rockpool sessions patch main --label ""',
    ],
  },
  run: (app, input, caller) => patch(app, input, caller),
})

async function patch(app: App, input: PatchInput, caller: Caller): Promise<z.input<typeof patchOutput>> {
  const { key, agentId } = await targetOf(app, input, caller)
  if (input.model) input.model = knownModel(app, input.model)
  if (typeof input.label === 'string') input.label = checkedLabel(app, input.label)
  const idle = withoutEffect(input)
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
    ...(idle.length > 0 ? { withoutEffect: idle } : {}),
  }
}

/** A session that is there, or the key of one that begins with this. */
async function targetOf(
  app: App,
  input: PatchInput,
  caller: Caller,
): Promise<{ key: string; agentId: string }> {
  const found = await findSessions(app, caller, input.key, input.agentId)
  if (found.length === 1) return found[0]!
  if (found.length > 1) {
    throw new RockpoolError('ambiguous', `${JSON.stringify(input.key)} could be ${found.length} sessions.`, {
      hint: `Name one of them in full: ${found
        .slice(0, 10)
        .map(({ key }) => key)
        .join(', ')}.`,
    })
  }
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
  if (!isSubagentSessionKey(key)) {
    throw new RockpoolError('input-invalid', 'spawnedBy can only be set on the session of a sub-agent.')
  }
  if (entry.spawnedBy !== undefined && entry.spawnedBy !== value) {
    throw new RockpoolError('refused', 'spawnedBy cannot be changed once it is set.')
  }
  setField(entry, 'spawnedBy', value)
}
