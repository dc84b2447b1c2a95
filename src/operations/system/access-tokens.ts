// Access to the gateway: the operator's token, further tokens with fewer rights, the hook token, and one-time codes for the
// dashboard.
import { z } from 'zod'
import { describeRule } from '../../coding/approvals/permission-rules.ts'
import { checkedName } from '../../coding/session/names.ts'
import { openclawPrefix } from '../../domain/agent.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { onlyOwnerResumes } from '../../domain/schedule.ts'
import { endingDevices } from '../../store/device-file.ts'
import { checkAgentId } from '../../store/paths.ts'
import {
  changeTokenRecords,
  ensureGatewayToken,
  gatewayTokenFile,
  hashOf,
  hookTokenFile,
  newToken,
  readHookToken,
  readTokenRecords,
  rotateGatewayToken,
  writeHookToken,
} from '../../store/gateway-tokens.ts'
import type { App } from '../app.ts'
import { operation, scopes } from '../operation.ts'

const scope = z.enum(scopes)
const tokenRow = z.object({
  name: z.string(),
  scopes: z.array(z.string()),
  agentId: z.string().optional(),
  agents: z.string().optional(),
})

const endedDevices = z
  .array(z.string())
  .describe('Devices that were added with the token: they get no more notifications.')

const pausedSchedules = z
  .array(z.string())
  .describe('Schedules that were added with the token: they are paused until the owner resumes them.')

const removedRules = z
  .array(z.string())
  .describe('Permission rules that were added with the token, in words: they are removed.')

const listTokens = operation({
  name: 'tokens.list',
  description: 'List the access tokens of the gateway, without their secrets.',
  input: z.strictObject({}),
  output: z.object({
    operatorTokenFile: z.string(),
    hooks: z.object({ enabled: z.boolean(), tokenFile: z.string(), set: z.boolean() }),
    tokens: z.array(tokenRow.extend({ createdAt: z.number() })),
  }),
  scope: 'admin',
  command: { examples: ['rockpool tokens list'] },
  async run(app) {
    const { root } = app.paths
    return {
      operatorTokenFile: gatewayTokenFile(root),
      hooks: {
        enabled: app.config.hooks.enabled,
        tokenFile: hookTokenFile(root),
        set: readHookToken(root) !== undefined,
      },
      tokens: readTokenRecords(root).map(({ hash: _hash, ...record }) => record),
    }
  },
})

const addToken = operation({
  name: 'tokens.add',
  description: 'Create a token with limited rights; it is shown only once.',
  input: z.strictObject({
    name: z.string().trim().min(1).max(64).describe('The name of the token.'),
    scopes: z.array(scope).min(1).default(['read']).describe('What it may do.'),
    agentId: z.string().optional().describe('Bind it to this agent.'),
    agents: z
      .literal(openclawPrefix)
      .optional()
      .describe("Bind it to OpenClaw's agents, whose ids begin with this; each call names one."),
  }),
  output: tokenRow.extend({
    token: z.string(),
    note: z.string().optional().describe('What must be done before it can be used.'),
  }),
  scope: 'admin',
  changesState: true,
  returnsSecret: true,
  command: {
    positional: ['name'],
    flags: { scopes: 'scope', agentId: 'agent' },
    examples: ['rockpool tokens add grafana --scope read'],
  },
  async run(app, input) {
    const token = newToken()
    const { scopes, agents } = input
    const name = checkedName(input.name)
    if (input.agentId !== undefined && agents !== undefined)
      throw new RockpoolError('input-invalid', 'A token is bound to one agent or to a prefix, not to both.')
    const agentId = input.agentId === undefined ? undefined : checkAgentId(input.agentId)
    const bound = { agentId, agents }
    const hash = hashOf(token).toString('base64url')
    await changeTokenRecords(app.paths.root, (records) => {
      if (records.some((record) => record.name === name))
        throw new RockpoolError('conflict', `There is a token ${JSON.stringify(name)} already.`, {
          hint: 'Remove it first, or choose another name.',
        })
      return [...records, { name, scopes, ...bound, createdAt: app.clock.now(), hash }]
    })
    const isMissing = agentId !== undefined && !app.agentIds().includes(agentId)
    const note = isMissing
      ? `There is no agent ${agentId} yet: \`rockpool agents add ${agentId}\` makes it.`
      : undefined
    return { name, scopes, ...bound, token, note }
  },
})

const removeToken = operation({
  name: 'tokens.remove',
  description: 'Revoke a token; its open connections end within a second.',
  input: z.strictObject({ name: z.string().min(1).describe('The token.') }),
  output: z.object({
    ok: z.boolean(),
    name: z.string(),
    devices: endedDevices,
    schedules: pausedSchedules,
    rules: removedRules,
  }),
  scope: 'admin',
  changesState: true,
  destructive: true,
  command: {
    positional: ['name'],
    confirmIfFound: ({ name }) => ({
      name: 'tokens.list',
      isFound: ({ tokens }) => (tokens as Array<{ name: string }>).some((token) => token.name === name),
    }),
    examples: ['rockpool tokens remove grafana'],
  },
  async run(app, input) {
    const { root } = app.paths
    const remove = (): Promise<void> =>
      changeTokenRecords(root, (records) => {
        const left = records.filter((record) => record.name !== input.name)
        if (left.length < records.length) return left
        throw new RockpoolError('not-found', `There is no token ${JSON.stringify(input.name)}.`, {
          hint: '`rockpool tokens list` shows them.',
        })
      })
    const devices = await endingDevices(root, remove, false)
    const schedules = await pauseSchedules(app, input.name)
    return { ok: true, name: input.name, devices, schedules, rules: await removeRules(app, input.name) }
  },
})

/** The schedules of a program must not run after the program lost its token. They are paused and not removed, because the owner
 *  may want them. */
async function pauseSchedules({ storage }: App, token: string): Promise<string[]> {
  const added = storage.schedules.list().filter(({ addedWith }) => addedWith === token)
  const paused = `The token ${token}, with which it was added, was removed. Only the owner can resume it.`
  for (const { id } of added)
    await storage.schedules.change(id, (stored) => (onlyOwnerResumes(stored) ? undefined : { paused }))
  return added.map(({ name }) => name)
}

/** Removes the permission rules that the program added: sessions ask again. */
async function removeRules({ storage }: App, token: string): Promise<string[]> {
  const added = storage.approvals.grants().filter(({ grantedBy }) => grantedBy === `token:${token}`)
  for (const { id } of added) await storage.approvals.revoke(id)
  return added.map(describeRule)
}

const rotateToken = operation({
  name: 'tokens.rotate',
  description: "Replace the operator's token or the hook token; the old one stops working within a second.",
  input: z.strictObject({ which: z.enum(['operator', 'hook']).default('operator').describe('Which one.') }),
  output: z.object({ ok: z.boolean(), which: z.string(), tokenFile: z.string(), devices: endedDevices }),
  scope: 'admin',
  changesState: true,
  destructive: true,
  command: {
    positional: ['which'],
    namedInScripts: 'which',
    confirmIfFound: ({ which = 'operator' }) => ({
      name: 'tokens.list',
      steps: () => [`The ${String(which)} token is replaced: every program that uses it needs the new one.`],
    }),
    examples: ['rockpool tokens rotate', 'rockpool tokens rotate hook --yes'],
  },
  async run(app, input) {
    const { root } = app.paths
    const { which } = input
    if (which === 'hook') {
      writeHookToken(root, newToken())
      return { ok: true, which, tokenFile: hookTokenFile(root), devices: [] }
    }
    ensureGatewayToken(root)
    const devices = await endingDevices(root, () => rotateGatewayToken(root), true)
    return { ok: true, which, tokenFile: gatewayTokenFile(root), devices }
  },
})

const dashboardCode = operation({
  name: 'dashboard.code',
  description: 'Create a one-time code for the dashboard, valid for a minute.',
  input: z.strictObject({}),
  output: z.object({ url: z.string(), code: z.string(), expiresInMs: z.number() }),
  scope: 'admin',
  needsGateway: true,
  command: { hidden: true },
  async run(app, _input, { name }) {
    if (!app.gateway)
      throw new RockpoolError('unavailable', 'No gateway runs here.', {
        hint: 'Start it with `rockpool up`.',
      })
    const { code, expiresInMs } = app.gateway.loginCode(name === 'dashboard')
    // After the number sign, because browsers do not send that part.
    return { url: `${app.gateway.url}/#code=${code}`, code, expiresInMs }
  },
})

export const operations = [listTokens, addToken, removeToken, rotateToken, dashboardCode]
