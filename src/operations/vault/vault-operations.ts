// The vault: what it has, restoring, checking, removing; and how long Claude Code itself keeps sessions.
import { z } from 'zod'
import { RockpoolError, errorText } from '../../domain/errors.ts'
import { titleText } from '../../domain/machine-text.ts'
import { keepAll } from '../../vault/follow.ts'
import type { VerifyReport } from '../../vault/verify.ts'
import type { App } from '../app.ts'
import { flag, nameField } from '../input-fields.ts'
import { operation } from '../operation.ts'
import { asDiscovered, removeShared } from './kept-sessions.ts'
import { machineField, withVault } from './restore-operations.ts'
import { retention, retentionOf } from './retention-operations.ts'

const gigabyte = 1e9
const oneSession = nameField().describe('A kept session: its id, or the beginning of it.')
const purgedField = z.number().describe('How many sessions were purged; they are not kept again.')
const shared = z.object({
  address: z.string(),
  machines: z.array(z.object({ machine: z.string(), bytes: z.number(), isThis: z.boolean() })),
  problem: z.string().optional(),
})

const status = operation({
  name: 'vault.status',
  description: 'Show what the vault keeps, its size and limit, and what Claude Code will delete soon.',
  input: z.strictObject({}),
  output: z.object({
    enabled: z.boolean(),
    folder: z.string(),
    encrypted: z.boolean(),
    sessions: z.number(),
    /** Sessions whose transcript is gone. */
    gone: z.number(),
    purged: purgedField,
    files: z.number(),
    originalBytes: z.number(),
    bytes: z.number(),
    maxBytes: z.number(),
    damagedFiles: z.number().describe('Damaged files of the vault that a quick check finds.'),
    shared: shared.optional(),
    retention: z.array(retention),
  }),
  scope: 'read',
  isCostly: true,
  operatorOnly: true,
  heavyParts: ['discovery'],
  command: { examples: ['rockpool vault status', 'rockpool vault status --json'] },
  async run(app) {
    const vault = await app.vault()
    const { config, environment, paths } = app
    return {
      enabled: config.vault.enabled,
      folder: paths.vault,
      encrypted: [config.vault.keyFile, config.vault.passphraseCommand, environment.vaultPassphrase].some(
        Boolean,
      ),
      ...(await vault.size()),
      gone: (await vault.gone()).length,
      purged: (await vault.purged()).length,
      maxBytes: config.vault.maxGb * gigabyte,
      damagedFiles: (await vault.damagedPacks()).length,
      shared: await sharedOf(app),
      retention: await retentionOf(app),
    }
  },
})

/** As `Vault.find` matches. */
function beginsWith({ sessionId }: { sessionId: string }, prefix: string): boolean {
  return sessionId.toLowerCase().startsWith(prefix.toLowerCase())
}

async function sharedOf(app: App): Promise<z.infer<typeof shared> | undefined> {
  const address = app.config.vault.shared
  if (address === undefined) return undefined
  try {
    return { address, machines: (await (await app.sharedVault())?.machines()) ?? [] }
  } catch (error) {
    return { address, machines: [], problem: errorText(error) }
  }
}

const list = operation({
  name: 'vault.list',
  description: 'List the sessions in the vault, the most recently used first.',
  input: z.strictObject({
    gone: flag('Only sessions whose transcript Claude Code has deleted.'),
    machine: machineField,
    limit: z.int().min(1).optional().describe('How many at most.'),
  }),
  output: z.object({
    total: z.number(),
    purged: purgedField,
    sessions: z.array(
      z.object({
        sessionId: z.string(),
        agent: z.string(),
        title: z.string().optional(),
        repoPath: z.string(),
        lastModified: z.string(),
        filePath: z.string(),
        gone: z.boolean(),
      }),
    ),
  }),
  scope: 'read',
  isCostly: true,
  operatorOnly: true,
  heavyParts: [],
  redactOutput: true,
  command: { examples: ['rockpool vault list', 'rockpool vault list --gone --json'] },
  async run(app, input) {
    const [kept, purged] = await withVault(app, input.machine, async (vault) => [
      await vault.sessions(),
      await vault.purged(),
    ])
    const wanted = kept
      .filter(({ isGone }) => isGone || !input.gone)
      .map((one) => ({ ...one, session: asDiscovered(one) }))
    wanted.sort((a, b) => b.session.lastModified.getTime() - a.session.lastModified.getTime())
    const sessions = wanted.slice(0, input.limit).map(({ session, agent, isGone, filePath }) => ({
      sessionId: session.sessionId,
      agent,
      title: session.title ?? (titleText(session.firstMessage) || undefined),
      repoPath: session.repoPath,
      lastModified: session.lastModified.toISOString(),
      filePath,
      gone: isGone,
    }))
    return { total: wanted.length, purged: purged.length, sessions }
  },
})

const verify = operation({
  name: 'vault.verify',
  description: 'Read every byte of the vault and report what is damaged, and which files need it.',
  input: z.strictObject({
    repair: flag('Store damaged chunks again from files that are still there.'),
  }),
  output: z.object({
    ok: z.boolean(),
    records: z.number(),
    bytes: z.number(),
    damage: z.array(z.object({ pack: z.string(), offset: z.number(), problem: z.string() })),
    files: z.array(z.object({ sessionId: z.string(), path: z.string() })),
    unfinished: z.number().describe('Ends of interrupted writes; nothing refers to them.'),
    repaired: z
      .number()
      .describe('How many files were kept again; the rest of the report is from after that.'),
  }),
  scope: 'admin',
  changesState: true,
  heavyParts: [],
  command: {
    isFailure: ({ ok }) => ok === false,
    examples: ['rockpool vault verify', 'rockpool vault verify --repair'],
  },
  async run(app, { repair }) {
    const vault = await app.vault()
    const check = (): Promise<VerifyReport> => vault.verify((done) => app.onCopyProgress?.(done))
    let report = await check()
    const repaired = repair ? await vault.repair(report) : 0
    if (repaired > 0) report = await check()
    const { records, bytes, damage, unfinished } = report
    const files = report.files.map(({ session, path }) => ({ sessionId: session, path }))
    return { ok: damage.length + files.length === 0, records, bytes, damage, files, unfinished, repaired }
  },
})

const prune = operation({
  name: 'vault.prune',
  description:
    'Remove the oldest sessions until the vault is below its limit; without --apply only show which.',
  input: z.strictObject({
    maxGb: z.number().min(0).optional().describe('The limit; vault.maxGb when absent.'),
    young: flag('Also sessions younger than a year.'),
    apply: flag('Remove them. Without this, nothing changes.'),
  }),
  output: z.object({
    applied: z.boolean(),
    sessions: z.array(
      z.object({
        sessionId: z.string(),
        title: z.string().optional(),
        lastModified: z.number(),
        bytes: z.number(),
      }),
    ),
    bytes: z.number(),
    bytesAfter: z.number(),
    isShort: z.boolean().describe('Still over the limit: all other sessions are younger than a year.'),
  }),
  scope: 'admin',
  changesState: true,
  heavyParts: [],
  command: { examples: ['rockpool vault prune', 'rockpool vault prune --max-gb 5 --apply'] },
  async run(app, input) {
    const vault = await app.vault()
    const plan = await vault.planPrune((input.maxGb ?? app.config.vault.maxGb) * gigabyte, input.young)
    if (!input.apply) return { applied: false, ...plan }
    await vault.prune(plan.sessions.map(({ sessionId }) => sessionId))
    return { applied: true, ...plan, bytesAfter: (await vault.size()).bytes }
  },
})

const purge = operation({
  name: 'vault.purge',
  description:
    'Remove every byte of a session, or of all sessions, from the vault; they are not kept again by themselves.',
  input: z.strictObject({ id: oneSession.optional(), all: flag('All sessions.') }),
  output: z.object({
    sessions: z.array(z.string()),
    bytes: z.number().describe('The size of the vault now.'),
    sharedProblem: z.string().optional().describe('Why the shared copy still has them; it is tried again.'),
  }),
  scope: 'admin',
  changesState: true,
  destructive: true,
  heavyParts: [],
  command: {
    positional: ['id'],
    namedInScripts: 'id',
    confirmIfFound: ({ id, all }) => ({
      name: 'vault.list',
      isFound: ({ sessions }) =>
        all === true || (sessions as Array<{ sessionId: string }>).some((one) => beginsWith(one, String(id))),
      steps: ({ total }) =>
        all === true ? [`All ${String(total)} sessions are removed from the vault.`] : [],
    }),
    examples: ['rockpool vault purge 3f2a --yes', 'rockpool vault purge --all --yes'],
  },
  async run(app, input) {
    const vault = await app.vault()
    if ((input.id === undefined) === !input.all)
      throw new RockpoolError('usage', 'Name a session, or use --all.')
    const wanted = input.id === undefined ? await vault.sessions() : [await vault.find(input.id)]
    const sessions = wanted.map(({ sessionId }) => sessionId)
    await vault.purge(sessions)
    const sharedProblem = await removeShared(app)
    return { sessions, bytes: (await vault.size()).bytes, sharedProblem }
  },
})

const keep = operation({
  name: 'vault.keep',
  description: 'Keep every session now that has changed; a running gateway does it by itself.',
  input: z.strictObject({
    id: nameField()
      .optional()
      .describe('A session that was purged, to keep it again: the beginning of its id.'),
    purged: flag('Keep all sessions again that were purged.'),
  }),
  output: z.object({
    read: z.number().describe('The bytes that were new or had to be compared.'),
    purged: purgedField,
    shared: z.number().optional().describe('The bytes that were copied to the shared vault.'),
  }),
  scope: 'admin',
  changesState: true,
  heavyParts: ['discovery'],
  command: {
    positional: ['id'],
    examples: ['rockpool vault keep', 'rockpool vault keep 3f2a', 'rockpool vault keep --purged'],
  },
  async run(app, input) {
    if (input.id !== undefined && input.purged)
      throw new RockpoolError('usage', 'Name a session, or use --purged; not both.')
    const vault = await app.vault()
    if (input.id !== undefined || input.purged) await vault.allowAgain(input.id)
    const read = await keepAll({ vault, discovery: app.discovery() })
    return {
      read,
      purged: (await vault.purged()).length,
      shared: await (await app.sharedVault())?.send(),
    }
  },
})

export const operations = [status, list, verify, prune, purge, keep]
