// Maintenance of the state: find and fix problems, make a backup.
import { z } from 'zod'
import { RockpoolError, asRockpoolError, errorText } from '../../domain/errors.ts'
import type { UnreadablePath } from '../../domain/discovered-session.ts'
import { lookForClaude } from '../../agent/choose.ts'
import { examine, fix, type Finding } from '../../sessions/doctor.ts'
import { configProblem } from '../../store/config-reload.ts'
import { backUpState } from '../../store/backup.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { partsOf } from '../sessions/which-session.ts'
import { flag } from '../input-fields.ts'
import { retentionOf } from '../vault/retention-operations.ts'

const finding = z.object({
  kind: z.string(),
  agentId: z.string().optional(),
  where: z.string(),
  problem: z.string(),
  remedy: z.string(),
  details: z.string().optional().describe('What the database itself reports.'),
  fixable: z.boolean(),
})

const doctor = operation({
  name: 'doctor',
  description: 'Diagnose problems of the state: damage, leftovers, file modes; with --fix repair them.',
  input: z.strictObject({
    fix: flag('Repair them. Without this, nothing changes.'),
    deep: flag('Also read every byte of the vault, and check whether Claude still has each conversation.'),
  }),
  output: z.object({
    ok: z.boolean(),
    findings: z.array(finding),
    fixed: z.number(),
    failed: z.array(z.string()),
    notes: z.array(z.string()).describe('What is missing, without being damage.'),
  }),
  scope: 'admin',
  redactOutput: true,
  changesState: true,
  withLastConfig: true,
  heavyParts: ['discovery'],
  command: { examples: ['rockpool doctor', 'rockpool doctor --fix', 'rockpool doctor --json'] },
  async run(app, input) {
    const findings: Finding[] = []
    const agents = app.agentIds().map((agentId) => partsOf(app, { agentId }))
    const unreadable = (): Promise<UnreadablePath[]> => app.discovery().unreadable()
    const parts = { paths: app.paths, agents, unreadable, ...(input.deep ? await claudeCheck(app) : {}) }
    for await (const found of examine(parts)) findings.push(found)
    findings.push(...(await invalidConfig(app)), ...(await damagedVault(app, input.deep)))
    const { fixed, failed, reports } = input.fix
      ? await fix(findings)
      : { fixed: [], failed: [], reports: [] }
    return {
      ok: findings.length === fixed.length,
      findings: findings.map(({ fix: repair, ...rest }) => ({ ...rest, fixable: repair !== undefined })),
      fixed: fixed.length,
      failed,
      notes: [...reports, ...notesOn(app), ...(await retentionNotes(app))],
    }
  },
})

/** The finding if the configuration file was changed while Rockpool runs and is not valid. The earlier configuration stays in
 *  force until the file is valid. */
async function invalidConfig({ environment }: App): Promise<Finding[]> {
  const problem = await configProblem(environment)
  const remedy = 'Correct the file; the earlier configuration stays in force until then.'
  return problem === undefined
    ? []
    : [{ kind: 'config-invalid', where: environment.configFile, problem, remedy }]
}

/** Damaged files of the vault. If the vault cannot be opened, `retentionNotes` reports that instead. */
async function damagedVault(app: App, isDeep: boolean): Promise<Finding[]> {
  const vault = await app.vault().catch(() => undefined)
  const damaged = await vault?.damagedPacks(isDeep).catch((error: unknown) => asRockpoolError(error))
  if (damaged instanceof RockpoolError) {
    const problem = `could not be examined: ${damaged.message}`
    const remedy = `no automatic fix: ${damaged.hint ?? 'correct the cause and run `rockpool doctor` again'}`
    return [{ kind: 'not-examined', where: app.paths.vault, problem, remedy }]
  }
  return (damaged ?? []).map((pack) => ({
    kind: 'vault-damaged',
    where: pack,
    problem: 'is a damaged file of the vault; the sessions themselves are not affected',
    remedy:
      'no automatic fix: `rockpool vault verify` says what is lost, `rockpool vault verify --repair` keeps again what is still there',
  }))
}

function notesOn(app: App): string[] {
  const claude = lookForClaude(app.environment, app.config.claude.credential)
  return claude.connected ? [] : [`Claude is not connected. ${claude.hint}`]
}

/** How long Claude Code keeps sessions, which it will delete soon, and whether the vault has them. If the vault cannot be read,
 *  the doctor reports that and continues. */
async function retentionNotes(app: App): Promise<string[]> {
  const all = await retentionOf(app).catch((error: unknown) => errorText(error))
  if (typeof all === 'string') return [`The vault cannot be read: ${all}`]
  return all.flatMap(({ configDir, settingsFile, days, deletedSoon, keptOfThem, problem }) => {
    const soon = deletedSoon === 0 ? 'none' : String(deletedSoon)
    const kept = deletedSoon === 0 ? '' : `, ${keptOfThem} of them in the vault`
    const offer = days < 365 ? ' `rockpool vault retention 365` shows how to keep them longer.' : ''
    return [
      ...(problem === undefined ? [] : [`${settingsFile}: ${problem}`]),
      `Claude Code deletes sessions in ${configDir} after ${days} days: ${soon} in the next 7 days${kept}.${offer}`,
    ]
  })
}

/** Checks whether Claude can resume a conversation. There is no check with the offline agent, which can resume none. */
async function claudeCheck(app: App): Promise<{ isResumable?: (id: string) => Promise<boolean> }> {
  const runtime = await app.runtime()
  if (runtime.kind !== 'claude') return {}
  return { isResumable: async (id) => (await runtime.resumable(id)).ok }
}

const backup = operation({
  name: 'backup',
  description: 'Copy the whole state into a new folder, with PostgreSQL also the shared database.',
  input: z.strictObject({ to: z.string().describe('The folder in which the backup is made.') }),
  output: z.object({
    folder: z.string(),
    files: z.number(),
    bytes: z.number(),
    warnings: z.array(z.string()),
  }),
  scope: 'admin',
  changesState: true,
  command: { positional: ['to'], paths: ['to'], examples: ['rockpool backup ~/backups'] },
  async run(app, input) {
    if (!input.to.startsWith('/')) throw new RockpoolError('input-invalid', 'to must be an absolute path.')
    return backUpState(app.paths.root, input.to, app.clock, app.storage.cluster?.dump)
  },
})

export const operations = [doctor, backup]
