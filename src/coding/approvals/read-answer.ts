// Reads a person's answer, and turns it into the answer for Claude: an amount for a budget, choices for a question. An answer
// that could mean two things is refused, so that the person is asked again. Chat, command line, RPC and dashboard all use it.
import type { PermissionAnswer } from '../../domain/agent.ts'
import type { Approval } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { oneLine } from '../session/names.ts'
import { continuePrompt } from '../session/session-changes.ts'
import { questionsOf, requestText } from './question-text.ts'
import type { QuestionRequest, AskedQuestion } from './question-text.ts'

/** Throws `input-invalid` when a yes to this approval lacks the amount or choice that it needs. */
export function checkAnswer({ id, kind, input }: Approval, text: string | undefined): void {
  if (kind === 'budget') readAmount(text)
  if (kind !== 'question') return
  if ((text ?? '').trim() === '')
    throw unclear(
      `Approval ${id} is a question and needs an answer.`,
      `Answer with one of: ${offered(input)}.`,
    )
  answersFor(input, text ?? '')
}

const plainYes = /^(?:y|yes|ok|okay|allow|approved?|go on|👍)[.!]?$/iu
const dollars = /^\$?\s*(\d+(?:\.\d{1,4}|,\d{1,2})?)\s*(?:\$|usd|dollars?)?$/i
const cents = /^(\d+)\s*(?:¢|c|ct|cts|cents?)$/i

/** Is the text meant as an amount, valid or not? `-1` is, `not now` is not. */
export function isLikeAmount(text: string): boolean {
  return /^[-+$\s]*\d[\d.,]*\s*(?:\$|usd|dollars?|¢|c|cts?|cents?)?$/i.test(text.trim())
}

/** The dollars in an answer such as `$10`, `0,50` or `50 cents`; undefined for a plain yes. */
export function readAmount(answer: string | undefined): number | undefined {
  const text = (answer ?? '').trim()
  if (text === '' || plainYes.test(text)) return undefined
  const [, inDollars] = dollars.exec(text) ?? []
  const [, inCents] = cents.exec(text) ?? []
  const amount = inCents === undefined ? Number(inDollars?.replace(',', '.')) : Number(inCents) / 100
  if (amount > 0) return amount
  throw unclear(
    `${JSON.stringify(text.slice(0, 80))} is not an amount.`,
    'Answer yes, no, or an amount of dollars above zero, such as 0.50 or 10.',
  )
}

export function answerFor(approval: Approval, request: QuestionRequest): PermissionAnswer {
  if (approval.state === 'allowed') {
    return request.kind === 'question'
      ? {
          behavior: 'allow',
          updatedInput: { ...request.input, answers: answersFor(request.input, approval.answer ?? '') },
        }
      : { behavior: 'allow' }
  }
  if (approval.state === 'denied' && request.kind === 'plan') return planRefused(approval.answer)
  const why = approval.answer ? `: ${approval.answer}` : '.'
  if (approval.state === 'denied') return { behavior: 'deny', message: `A person said no${why}` }
  return {
    behavior: 'deny',
    message: `${sentence(expiryText(approval))}, so the answer is no. Continue without it, or say what you need.`,
  }
}

/** The text for people about a request that was not allowed: `denied: not on main`, `expired, no answer in 5 min`. */
export function refusalText(approval: Approval): string | undefined {
  if (approval.state === 'denied') return approval.answer ? `denied: ${approval.answer}` : 'denied'
  return approval.state === 'expired' ? expiryText(approval) : undefined
}

export function expiryText({ askedAt, expiresAt }: Pick<Approval, 'askedAt' | 'expiresAt'>): string {
  if (expiresAt === undefined) return 'expired, no answer'
  const seconds = Math.round((expiresAt - askedAt) / 1_000)
  const time = seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
  return `expired, no answer in ${time}`
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The message that resumes a session whose request was answered while no process ran it. */
export function promptAfterAnswer(approval: Approval): string {
  const { kind, state, answer, input } = approval
  const asked = oneLine(requestText(approval), 500)
  if (kind === 'budget') return continuePrompt
  if (kind === 'question' && state === 'allowed') {
    const answers = Object.entries(answersFor(input, answer ?? ''))
    const lines = answers.map(([question, chosen]) => `${question} ${chosen}`)
    return `Rockpool was restarted while you waited for an answer. A person answered: ${lines.join('\n')}`
  }
  const verdict = state === 'allowed' ? 'allowed' : `denied${answer ? ` (${answer})` : ''}`
  const next = state === 'allowed' ? 'Do it now, exactly as you asked, and continue.' : 'Continue without it.'
  if (kind !== 'plan')
    return `Rockpool was restarted while you waited for permission. A person ${verdict}: ${asked}\n${next}`
  return state === 'allowed'
    ? 'Rockpool was restarted while your plan waited. A person approved it. Show the same plan again, then carry it out.'
    : `Rockpool was restarted while your plan waited. A person rejected it${answer ? `: ${answer}\nRevise it and show it again.` : '. Do not carry it out.'}`
}

/** With a text Claude changes the plan and shows it again; without, Claude stops and waits for the next message. */
function planRefused(change: string | undefined): PermissionAnswer {
  return change
    ? {
        behavior: 'deny',
        message: `A person wants the plan changed: ${change}\nRevise it and show it again.`,
      }
    : { behavior: 'deny', message: 'A person rejected the plan. Do not carry it out.', interrupt: true }
}

/** The answers for Claude: for each question, by its text, the chosen labels or the person's own words. */
export function answersFor(input: Record<string, unknown>, text: string): Record<string, string> {
  const questions = questionsOf(input)
  const parts = partsOf(text, questions.length)
  if (parts.length < questions.length)
    throw unclear(
      `There are ${questions.length} questions and ${parts.length} answers.`,
      'Give one answer for each question, separated by a line break or a semicolon.',
    )
  return Object.fromEntries(questions.map((question, i) => [question.question, chosen(question, parts[i]!)]))
}

/** One question takes the whole text; several take a line or a part each. */
function partsOf(text: string, count: number): string[] {
  if (count <= 1) return [text]
  return text
    .split(text.includes('\n') ? '\n' : ';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Numbers and labels choose options, several if the question allows it; any other text is the answer itself. */
function chosen({ options, several }: AskedQuestion, text: string): string {
  const answer = text.trim()
  const areNumbers = /^\d{1,2}(?:(?:\s*[,+&]\s*|\s+and\s+|\s+)\d{1,2})*$/i.test(answer)
  if (!areNumbers || options.length === 0) return labelsIn({ options, several }, answer) ?? answer
  const labels = answer.match(/\d+/g)!.map((number) => options[Number(number) - 1])
  if (labels.includes(undefined))
    throw unclear(`There is no choice ${answer}.`, `The choices are 1 to ${options.length}.`)
  if (labels.length > 1 && !several)
    throw unclear('This question takes one choice.', `Answer with one number from 1 to ${options.length}.`)
  return [...new Set(labels)].join(', ')
}

function labelsIn(
  { options, several }: Pick<AskedQuestion, 'options' | 'several'>,
  answer: string,
): string | undefined {
  const labelOf = (word: string): string | undefined =>
    options.find((label) => label.toLowerCase() === word.trim().toLowerCase())
  const labels = several ? answer.split(',').map(labelOf) : []
  return labelOf(answer) ?? (labels.length > 0 && !labels.includes(undefined) ? labels.join(', ') : undefined)
}

function offered(input: Record<string, unknown>): string {
  const options = questionsOf(input).flatMap((question) => question.options)
  return options.length === 0 ? 'your own words' : options.map((label, i) => `${i + 1} ${label}`).join(', ')
}

function unclear(message: string, hint: string): RockpoolError {
  return new RockpoolError('input-invalid', message, { hint })
}
