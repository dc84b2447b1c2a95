// `cc approve` and `cc deny` without an id: shows each open request and asks before anything is answered. Without a terminal an
// id is required, because an answer to something that was not shown would be an accident.
import { RockpoolError } from '../domain/errors.ts'
import type { InputOf, OutputOf } from '../rpc/client.ts'
import { answerFrom, askLine, questions } from './answer-permission.ts'
import type { Answer } from './answer-permission.ts'
import type { OperationClient } from './call-operation.ts'
import type { Host } from './host.ts'
import { printRequest } from './print-approvals.ts'
import type { Approval } from './print-approvals.ts'

type AnswerInput = Partial<InputOf<'approvals.answer'>>

export async function answerRequests(
  { call }: OperationClient,
  host: Host,
  input: AnswerInput,
  json: boolean,
): Promise<OutputOf<'approvals.answer'>> {
  const { approvals } = await call('approvals.list', {})
  if (approvals.length === 0) throw new RockpoolError('not-found', 'Nothing waits for an answer.')
  if (json || !host.terminal.canAsk) throw idMissing(approvals)
  const settled: Approval[] = []
  let budgetUsd: number | undefined
  for (const approval of approvals) {
    if (settled.some(({ id }) => id === approval.id)) continue
    host.terminal.err(`${printRequest(approval, host.terminal)}\n`)
    const answer = await askAbout(approval, input)
    // The hash makes sure that the request is still the one that was shown.
    const { id, inputHash } = approval
    if (!answer) continue
    const answered = await call('approvals.answer', { ...input, id, inputHash, ...answer })
    settled.push(...answered.approvals)
    budgetUsd = answered.budgetUsd ?? budgetUsd
  }
  if (settled.length > 0) return { approvals: settled, budgetUsd }
  throw new RockpoolError('refused', 'Nothing was answered; the requests stay open.')
}

/** Undefined if the person leaves the request open. */
async function askAbout({ kind }: Approval, { decision, text }: AnswerInput): Promise<Answer | undefined> {
  if (decision === 'deny') return (await isYes('Deny this? y/N ')) ? { decision, text } : undefined
  if (kind === 'question' && text === undefined) return answerFrom(kind, await askLine(`${questions[kind]} `))
  return (await isYes('Allow this? y/N ')) ? { decision: 'allow', text } : undefined
}

async function isYes(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askLine(question)).trim())
}

function idMissing(approvals: Approval[]): RockpoolError {
  const ids = approvals.map(({ id, session, toolName }) => `${id} (${session ?? 'agent'}, ${toolName})`)
  return new RockpoolError('usage', `Which request? ${ids.join(', ')}`, {
    hint: '`rockpool cc approvals` shows each one in full; give its id.',
  })
}
