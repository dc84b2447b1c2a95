// Permission rules: what coding sessions may do without a question. Listed, added and removed by people.
import { z } from 'zod'
import { commandIn, describeRule, editsBelow } from '../../coding/approvals/permission-rules.ts'
import { grantSchema } from '../../domain/coding-session.ts'
import type { Grant } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { parseAgentSessionKey } from '../../domain/session-key-forms.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'
import { nameOf } from './approval-operations.ts'
import { codingSession, findCoding } from './coding-row.ts'
import { lasts, readSpan, refuseBound } from './rule-span.ts'

const row = grantSchema.extend({
  session: z
    .string()
    .optional()
    .describe("The coding session's name; absent: all coding sessions, or a chat."),
  text: z.string().describe('The rule in one line.'),
})

const list = operation({
  name: 'rules.list',
  description: 'List permission rules: what sessions may do without a question.',
  input: z.strictObject({}),
  output: z.object({ rules: z.array(row) }),
  scope: 'read',
  command: { examples: ['rockpool rules', 'rockpool rules list --json'] },
  async run(app, _input, caller) {
    return { rules: rulesSeenBy(app, caller).map((rule) => rowOf(app, rule)) }
  },
})

const add = operation({
  name: 'rules.add',
  description: 'Allow a command in a repository, or edits below a folder, without a question.',
  input: z.strictObject({
    command: z
      .string()
      .max(1_000)
      .optional()
      .describe('One program with its arguments; ` *` at the end allows any further ones.'),
    edits: z.boolean().default(false).describe('Allow edits of files instead of a command.'),
    folder: z
      .string()
      .min(1)
      .max(4_096)
      .describe('The repository of the command, or the folder of the edits.'),
    session: codingSession.optional().describe('Only for this session; for all coding sessions when absent.'),
    lasts: lasts.default('always'),
  }),
  output: row,
  scope: 'approve',
  changesState: true,
  command: {
    positional: ['command'],
    paths: ['folder'],
    currentDirectory: 'folder',
    examples: [
      'rockpool rules add "npm test *" --folder .',
      'rockpool rules add --edits --folder ./docs --lasts 8h',
      'rockpool rules add "cargo build" --folder . --session fix-login-bug',
    ],
  },
  async run(app, input, caller) {
    const { command, edits, folder } = input
    if (edits === (command !== undefined))
      throw new RockpoolError('input-invalid', 'Name a command, or --edits.', {
        hint: '`rockpool rules add "npm test *" --folder .`, `rockpool rules add --edits --folder ./docs`.',
      })
    if (input.session === undefined) refuseBound(caller)
    const codingId = input.session === undefined ? undefined : findCoding(app, caller, input.session).id
    const scope = command === undefined ? editsBelow(folder) : commandIn(command, folder)
    const { until } = readSpan(input.lasts, app.clock.now())
    const rule = await app.coding().approvals.addRule({ ...scope, codingId, until }, nameOf(caller))
    return rowOf(app, rule)
  },
})

const remove = operation({
  name: 'rules.remove',
  description: 'Remove a permission rule; sessions ask again.',
  input: z.strictObject({ id: z.string().min(1).describe('The id of the rule, or its beginning.') }),
  output: z.object({ id: z.string(), revoked: z.boolean() }),
  scope: 'approve',
  changesState: true,
  command: { positional: ['id'], acceptsYes: true, examples: ['rockpool rules remove 7c1d'] },
  async run(app, input, caller) {
    const [found, ...more] = rulesSeenBy(app, caller).filter(({ id }) => id.startsWith(input.id))
    if (more.length > 0) throw new RockpoolError('ambiguous', `Several rules begin with ${input.id}.`)
    const revoked = found !== undefined && (await app.storage.approvals.revoke(found.id))
    if (!revoked)
      throw new RockpoolError('not-found', `There is no rule ${input.id}.`, {
        hint: '`rockpool rules` lists them.',
      })
    return { id: found.id, revoked }
  },
})

function rowOf(app: App, rule: Grant): z.input<typeof row> {
  const session = rule.codingId === undefined ? undefined : app.storage.coding.get(rule.codingId)?.name
  return { ...rule, session, text: describeRule(rule) }
}

/** A rule of one session belongs to the agent of that session; rules for all sessions are the operator's. Ended rules are gone. */
export function rulesSeenBy(app: App, { agentId }: Pick<Caller, 'agentId'>): Grant[] {
  const { approvals, coding } = app.storage
  const now = app.clock.now()
  const agentOf = ({ codingId, sessionKey }: Grant): string | undefined =>
    codingId === undefined ? parseAgentSessionKey(sessionKey)?.agentId : coding.get(codingId)?.request.agentId
  return approvals
    .grants()
    .filter(({ until = Infinity }) => until > now)
    .filter((rule) => agentId === undefined || agentOf(rule) === agentId)
}

export const operations = [list, add, remove]
