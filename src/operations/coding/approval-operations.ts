// Approvals: what coding sessions ask people, and the answers.
import { z } from 'zod'
import { possibleRules } from '../../coding/approvals/permission-rules.ts'
import { shownWith } from '../../coding/approvals/questions.ts'
import { readAmount } from '../../coding/approvals/read-answer.ts'
import { questionsOf } from '../../coding/approvals/question-text.ts'
import { formatOriginChannel } from '../../domain/address.ts'
import { approvalSchema, ruleKinds } from '../../domain/coding-session.ts'
import type { Approval } from '../../domain/coding-session.ts'
import { nativeIdOf } from '../../domain/native-key.ts'
import type { App } from '../app.ts'
import { afterRecovery } from './coding-row.ts'
import type { Caller } from '../operation.ts'
import { operation } from '../operation.ts'
import { lasts, readSpan, refuseBound } from './rule-span.ts'

const row = approvalSchema.omit({ scripts: true }).extend({
  session: z.string().optional().describe('The name of the coding session or native session.'),
  nativeId: z.string().optional().describe("Claude's id of the native session that asks."),
  choices: z
    .array(z.string())
    .describe('Of a single question with one answer; the number of a choice answers it.'),
  rules: z.array(z.enum(ruleKinds)).describe('Of an open request: the rules that an answer can add.'),
  alike: z.array(z.string()).describe('Other open requests that ask exactly the same.'),
})

function rowsOf(app: App, approvals: Approval[], { agentId }: Caller): Array<z.input<typeof row>> {
  const open = app.coding().approvals.pending(agentId)
  return approvals.map((approval) => ({
    ...approval,
    session: approval.nativeName ?? (approval.codingId && app.storage.coding.get(approval.codingId)?.name),
    nativeId: nativeIdOf(approval.sessionKey),
    choices: choicesOf(approval),
    rules: approval.state === 'pending' ? possibleRules(approval) : [],
    alike: open.filter((other) => isAlike(other, approval)).map(({ id }) => id),
  }))
}

function isAlike(other: Approval, { id, inputHash }: Approval): boolean {
  return other.inputHash === inputHash && other.id !== id
}

function choicesOf({ kind, input }: Approval): string[] {
  const questions = kind === 'question' ? questionsOf(input) : []
  return questions.length === 1 && !questions[0]!.several ? questions[0]!.options : []
}

const list = operation({
  name: 'approvals.list',
  description: 'List requests that wait for an answer: commands, questions, plans and budgets.',
  input: z.strictObject({
    all: z.boolean().default(false).describe('Include settled requests, newest first.'),
    limit: z.number().int().min(1).max(1000).default(100).describe('How many.'),
  }),
  output: z.object({ approvals: z.array(row), count: z.number() }),
  scope: 'read',
  redactOutput: true,
  command: { examples: ['rockpool approvals list', 'rockpool approvals list --all --limit 20'] },
  async run(app, { all, limit }, caller) {
    const { approvals } = app.coding()
    const { agentId } = caller
    const found = all
      ? app.storage.approvals.recent(limit, agentId)
      : approvals.pending(agentId).slice(0, limit)
    return { approvals: rowsOf(app, found, caller), count: found.length }
  },
})

const answer = operation({
  name: 'approvals.answer',
  description: 'Allow or deny a request of a session, answer its question, or raise its budget.',
  input: z.strictObject({
    id: z.string().default('').describe('The approval, or the beginning of its id.'),
    decision: z.enum(['allow', 'deny']).default('allow').describe('The answer.'),
    text: z
      .string()
      .optional()
      .describe(
        'The answer to a question: a choice, several (1,2) or own words. An amount for a budget, a reason for a no.',
      ),
    always: z.boolean().default(false).describe('Allow exactly this from now on, in this session.'),
    rule: z
      .enum(ruleKinds)
      .optional()
      .describe('Also add a rule: exactly this, this command in this repository, or edits below a folder.'),
    folder: z.string().max(4_096).optional().describe('The folder of a rule; the repository when absent.'),
    lasts,
    alike: z
      .array(z.string())
      .max(1000)
      .default([])
      .describe('Other requests that ask exactly the same, to answer with it; no request that came since.'),
    inputHash: z.string().optional().describe('Refuse if the request is not the one with this hash.'),
  }),
  output: z.object({
    approvals: z.array(row),
    budgetUsd: z.number().optional().describe('The new budget of the session, if the answer raised it.'),
  }),
  scope: 'approve',
  changesState: true,
  command: {
    positional: ['id'],
    paths: ['folder'],
    examples: [
      'rockpool approvals answer 3fa9',
      'rockpool approvals answer 3fa9 --rule command --lasts 2h',
      'rockpool approvals answer 3fa9 --text 1,2',
      'rockpool approvals answer 3fa9 --decision deny --text "not on main"',
    ],
  },
  async run(app, input, caller) {
    const { approvals } = app.coding()
    const { decision: behavior, text, always } = input
    const { rule, folder } = input
    const span = readSpan(input.lasts, app.clock.now())
    if (rule && span.forAll) refuseBound(caller)
    const { agentId } = caller
    const said = { behavior, text, always, rule, folder, lasts: span, by: nameOf(caller), agentId }
    const { id, alike, inputHash } = input
    const budgetUsd =
      behavior === 'allow' ? budgetAfter(app, approvals.pending(agentId), id, text) : undefined
    const settled =
      alike.length > 0
        ? await approvals.answerTogether(id, alike, said, inputHash)
        : [await approvals.answer(id, said, inputHash)]
    return { approvals: rowsOf(app, settled, caller), budgetUsd }
  },
})

/** The budget of the session once this answer has raised it; undefined if the request is about another limit, or no budget. */
function budgetAfter(app: App, open: Approval[], id: string, text: string | undefined): number | undefined {
  const asked = id === '' ? undefined : open.find((one) => one.id.startsWith(id))
  if (asked?.kind !== 'budget' || asked.codingId === undefined) return undefined
  const session = app.storage.coding.get(asked.codingId)
  if (!session || session.costUsd < session.budgetUsd) return undefined
  return session.costUsd + (readAmount(text) ?? session.request.budgetUsd)
}

/** The requests that "all" means in a chat: those that ask the same, and that the chat was shown before the named one. */
export function alikeInChat(app: App, { address, agentId }: Caller, id: string): string[] {
  if (!address) return []
  const { approvals } = app.coding()
  const named = approvals.named(id, agentId)
  const isShown = shownWith(app.storage.coding, formatOriginChannel(address))
  return approvals
    .identicalTo(named)
    .filter((other) => isShown(other, named))
    .map((other) => other.id)
}

export function nameOf(caller: Caller): string {
  return caller.name ?? (caller.address ? `${caller.address.channel}|${caller.address.to}` : caller.via)
}

export const operations = afterRecovery([list, answer])
