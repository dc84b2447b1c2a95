// A question of a session as a message in a chat.
import type { Approval } from '../../domain/coding-session.ts'
import type { Reply } from '../../domain/reply.ts'
import { oneLine } from '../session/names.ts'
import { questionsOf } from './question-text.ts'

/** The whole question, with buttons for platforms that have them and words for the others. `alike` are the sessions that ask
 *  the same, if there are several: then one answer can settle all. */
export function approvalReply(who: string, approval: Approval, alike: string[] = []): Reply {
  const heading = {
    tool: `🔐 ${who} would like to use ${approval.toolName}:`,
    question: `❓ ${who} would like to know:`,
    plan: `📋 The plan of ${who}:`,
    budget: `💰 ${who}:`,
  }[approval.kind]
  const { id } = approval
  const words = {
    tool: `Answer yes or no, or /approve ${id}, /approve ${id} always, /deny ${id}`,
    question: `Answer with a number${isSeveral(approval) ? ' or several (1,2)' : ''}, or /approve ${id} <number or your own words>`,
    plan: `Answer yes or no, or revise: <what to change>, or /approve ${id}, /deny ${id} [what to change]`,
    budget: `Answer yes or no, or /approve ${id} <dollars>, /deny ${id}`,
  }[approval.kind]
  const what = `${id} · #${approval.inputHash.slice(0, 8)}`
  const shown = withVisibleControls(approval.shown)
  const together = alike.length > 1 ? `\n${wordsForAll(approval, alike)}` : ''
  return {
    text: `${heading}\n${approval.kind === 'tool' ? asCode(shown) : shown}\n\n${words} (${what})${together}`,
    buttons: approvalButtons(approval, alike.length),
  }
}

function isSeveral({ kind, input }: Approval): boolean {
  return kind === 'question' && questionsOf(input).some(({ several }) => several)
}

function wordsForAll({ id, kind }: Approval, alike: string[]): string {
  const names = alike.map((name) => `[${name}]`).join(', ')
  const words = kind === 'question' ? '<number> all' : 'yes all or no all'
  return `${alike.length} sessions ask exactly this: ${names}. For all of them: ${words}, or /approve all ${id}, /deny all ${id}`
}

/** Control characters could hide or move text on a screen, so they are written out. */
export function withVisibleControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) =>
    char === '\n' || char === '\t' ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`,
  )
}

/** Markdown would change a command: `__init__`, `\;`, `a || b || c` and table bars would not be shown as they are. Some
 *  platforms end a code block at the first three backticks, however many opened it. */
function asCode(text: string): string {
  return `\`\`\`\n${text.replaceAll('```', '``\\u{60}')}\n\`\`\``
}

/** Discord allows 80 with the suffix; the text has the whole label. */
const maxLabelChars = 60

type Row = NonNullable<Reply['buttons']>[number]

function approvalButtons(approval: Approval, alike: number): Reply['buttons'] {
  const ways = [
    { which: '', suffix: '' },
    ...(alike > 1 ? [{ which: 'all-', suffix: ` for all ${alike}` }] : []),
  ]
  const row = (answers: Array<[label: string, answer: string]>): Row[] =>
    ways.map(({ which, suffix }) =>
      answers.map(([label, answer]) => ({
        label: `${oneLine(label, maxLabelChars)}${suffix}`,
        data: `approve:${approval.id}:${which}${answer}`,
      })),
    )
  if (approval.kind === 'question') {
    const [first, ...more] = questionsOf(approval.input)
    // A button would answer with a single choice.
    if (isSeveral(approval)) return undefined
    // "For this one" and "for all" share a row: some platforms allow only five rows.
    return first && more.length === 0
      ? first.options.map((label, i) => row([[label, String(i + 1)]]).flat())
      : undefined
  }
  const yes =
    approval.kind === 'plan' ? 'Approve the plan' : approval.kind === 'budget' ? 'Go on' : 'Allow once'
  const no = approval.kind === 'plan' ? 'Reject' : 'Deny'
  const rows = row([
    [yes, 'allow'],
    [no, 'deny'],
  ])
  if (approval.kind !== 'tool') return rows
  return [...rows, [{ label: 'Allow always in this session', data: `approve:${approval.id}:always` }]]
}
