// Putting kept sessions back: where they were, into another folder, or on another machine than their own.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { agentHomesOf } from '../../discovery/agents/agent-homes.ts'
import { resumeHint } from '../../discovery/agents/readers.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { shellWord } from '../../domain/text.ts'
import type { RestoredFile } from '../../vault/restore.ts'
import type { KeptSession, Vault } from '../../vault/vault.ts'
import type { App } from '../app.ts'
import { flag, nameField } from '../input-fields.ts'
import { operation } from '../operation.ts'
import { asDiscovered } from './kept-sessions.ts'
import { claudeDirs } from './retention-operations.ts'

const oneSession = nameField().describe('A kept session: its id, or the beginning of it.')
export const machineField = nameField()
  .optional()
  .describe('Another machine of the shared vault, or the beginning of its name.')

const restoredFile = z.object({
  path: z.string(),
  bytes: z.number(),
  outcome: z
    .enum(['restored', 'same', 'longer', 'different', 'damaged'])
    .describe(
      '`same` and `longer`: a file was there already, with this content and nothing or more after it.',
    ),
})

/** Runs `use` on this machine's vault, or on that of another one. */
export async function withVault<T>(
  app: App,
  machine: string | undefined,
  use: (vault: Vault) => Promise<T>,
): Promise<T> {
  if (machine === undefined) return use(await app.vault())
  const shared = await app.sharedVault()
  if (shared) return shared.withVaultOf(machine, use)
  throw new RockpoolError('config-invalid', 'There is no shared vault.', {
    hint: 'Set vault.shared to the same place on every machine; see docs/vault.md.',
  })
}

const restore = operation({
  name: 'vault.restore',
  description: 'Restore the files of a session byte for byte; a file that exists is never replaced.',
  input: z.strictObject({
    id: oneSession.optional(),
    all: flag('Restore every session whose transcript is gone.'),
    to: z.string().optional().describe("Another config directory than the session's own."),
    machine: machineField,
  }),
  output: z.object({
    sessions: z.array(
      z.object({
        sessionId: z.string(),
        files: z.array(restoredFile),
        toContinue: z.string().describe('How its program continues it.'),
      }),
    ),
    conflicts: z.number().describe('Files that exist with other content, and were left as they are.'),
    damaged: z.number(),
  }),
  scope: 'admin',
  changesState: true,
  heavyParts: ['discovery'],
  command: {
    positional: ['id'],
    paths: ['to'],
    isFailure: ({ conflicts, damaged }) => Number(conflicts) + Number(damaged) > 0,
    examples: [
      'rockpool vault restore 3f2a',
      'rockpool vault restore --all',
      'rockpool vault restore 3f2a --to /tmp/claude',
      'rockpool vault restore 3f2a --machine laptop',
    ],
  },
  async run(app, input) {
    if ((input.id === undefined) === !input.all)
      throw new RockpoolError('usage', 'Name a session, or use --all.', {
        hint: '`rockpool vault list --gone` shows them.',
      })
    const sessions = await withVault(app, input.machine, async (vault) => {
      const wanted = input.id === undefined ? await vault.gone() : [await findIn(app, vault, input)]
      const restored: Array<{ sessionId: string; files: RestoredFile[]; toContinue: string }> = []
      for (const session of wanted) {
        const { sessionId } = session
        const to = input.to ?? (input.machine === undefined ? undefined : placeHere(app, session))
        const toContinue =
          resumeHint(asDiscovered(session)) ?? `Continue it: claude --resume ${shellWord(sessionId)}`
        restored.push({ sessionId, files: await vault.restore(sessionId, to), toContinue })
      }
      return restored
    })
    if (sessions.length > 0) await app.discovery().refresh()
    for (const { sessionId } of sessions)
      app.events.emit({ type: 'native-changed', sessionId, why: 'restored' })
    const having = (outcome: string): number =>
      sessions.flatMap(({ files }) => files).filter((file) => file.outcome === outcome).length
    return { sessions, conflicts: having('different'), damaged: having('damaged') }
  },
})

async function findIn(
  app: App,
  vault: Vault,
  { id = '', machine }: { id?: string; machine?: string },
): Promise<KeptSession> {
  return vault.find(id).catch((error: unknown) => {
    const isElsewhere = error instanceof RockpoolError && error.code === 'not-found' && machine === undefined
    if (!isElsewhere || app.config.vault.shared === undefined) throw error
    throw new RockpoolError('not-found', error.message, {
      hint: 'It may be of another machine: `rockpool vault status` lists them, --machine names one.',
    })
  })
}

/** Where a session of another machine is put: in the same directory if its program has it here, too, otherwise in another directory of
 *  its program. The other machine may name any directory. */
function placeHere(app: App, { root, agent }: KeptSession): string {
  const { environment, config } = app
  const homes = agentHomesOf(environment, config.discovery).flatMap(({ kind, path }) =>
    // A database is a home itself.
    kind === agent ? [path.endsWith('.db') ? dirname(path) : path] : [],
  )
  const places = agent === 'claude' ? claudeDirs(app) : homes.filter((path) => existsSync(path))
  const place = places.find((path) => path === root) ?? places[0]
  if (place !== undefined) return place
  throw new RockpoolError('not-found', `There is no directory of ${agent} on this machine.`, {
    hint: 'Name a directory with --to.',
  })
}

const exportAll = operation({
  name: 'vault.export',
  description:
    "Write the kept files of a session, or of all, into a folder, as they were in Claude's directory.",
  input: z.strictObject({ id: oneSession.optional(), to: z.string().describe('The folder.') }),
  output: z.object({
    folder: z.string(),
    sessions: z.number(),
    files: z.number(),
    bytes: z.number(),
    failed: z.array(z.string()),
  }),
  scope: 'admin',
  changesState: true,
  heavyParts: [],
  command: {
    positional: ['id'],
    paths: ['to'],
    isFailure: ({ failed }) => Array.isArray(failed) && failed.length > 0,
    examples: ['rockpool vault export --to ~/sessions', 'rockpool vault export 3f2a --to ~/sessions'],
  },
  async run(app, { id, to }) {
    if (!to.startsWith('/')) throw new RockpoolError('input-invalid', 'to must be an absolute path.')
    const vault = await app.vault()
    const wanted = id === undefined ? await vault.sessions() : [await vault.find(id)]
    const files: RestoredFile[] = []
    for (const [done, { sessionId }] of wanted.entries()) {
      files.push(...(await vault.restore(sessionId, to)))
      app.onCopyProgress?.({ sessions: done + 1, of: wanted.length })
    }
    const failed = files
      .filter(({ outcome }) => outcome === 'damaged' || outcome === 'different')
      .map(({ path }) => path)
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    return { folder: to, sessions: wanted.length, files: files.length, bytes, failed }
  },
})

export const operations = [restore, exportAll]
