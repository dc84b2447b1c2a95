// A question of a session as a message in a chat.
import type { Approval } from '../../domain/coding-session.ts'
import type { Reply } from '../../domain/reply.ts'
import { requestHeading } from '../../domain/request-heading.ts'
import { oneLine } from '../session/names.ts'
import { questionsOf } from './question-text.ts'

const icons = { tool: '🔐', question: '❓', plan: '📋', budget: '💰' }

/** The whole question, with buttons for platforms that have them and words for the others. `alike` are the sessions that ask
 *  the same, if there are several: then one answer can settle all. */
export function approvalReply(
  who: string,
  approval: Approval,
  alike: string[] = [],
  inOpenClaw = false,
): Reply {
  const heading = `${icons[approval.kind]} ${who} ${requestHeading(approval)}:`
  const { id } = approval
  const what = `${id} · #${approval.inputHash.slice(0, 8)}`
  const shown = withVisibleControls(approval.shown)
  const words = howToAnswer(approval, inOpenClaw)
  const together = alike.length > 1 ? `\n${wordsForAll(approval, alike, inOpenClaw)}` : ''
  return {
    text: `${heading}\n${approval.kind === 'tool' ? asCode(shown) : shown}\n\n${words} (${what})${together}`,
    buttons: approvalButtons(approval, alike.length),
    approvalId: id,
  }
}

function howToAnswer(approval: Approval, inOpenClaw: boolean): string {
  const { id, kind } = approval
  const plain = {
    tool: 'yes or no',
    question: `with a number${isSeveral(approval) ? ' or several (1,2)' : ''}`,
    plan: 'yes or no, or revise: <what to change>',
    budget: 'yes or no',
  }[kind]
  const commands = {
    tool: `/approve ${id}, /approve ${id} always, /deny ${id}`,
    question: `/approve ${id} <number or your own words>`,
    plan: `/approve ${id}, /deny ${id} [what to change]`,
    budget: `/approve ${id} <dollars>, /deny ${id}`,
  }[kind]
  return inOpenClaw ? `Answer with ${openclawNames(commands)}` : `Answer ${plain}, or ${commands}`
}

/** OpenClaw has a command /approve of its own, and its agent reads the plain words of people. */
function openclawNames(commands: string): string {
  return commands.replaceAll(/\/(approve|deny)\b/g, '/claude_$1')
}

function isSeveral({ kind, input }: Approval): boolean {
  return kind === 'question' && questionsOf(input).some(({ several }) => several)
}

function wordsForAll({ id, kind }: Approval, alike: string[], inOpenClaw: boolean): string {
  const names = alike.map((name) => `[${name}]`).join(', ')
  const words = kind === 'question' ? '<number> all' : 'yes all or no all'
  const commands = `/approve all ${id}, /deny all ${id}`
  const ways = inOpenClaw ? openclawNames(commands) : `${words}, or ${commands}`
  return `${alike.length} sessions ask exactly this: ${names}. For all of them: ${ways}`
}

/** Writes out control characters, which could hide or move text on a screen, and letters that are drawn as nothing. */
export function withVisibleControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu, (char) =>
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
    approval.kind === 'plan' ? 'Approve the plan' : approval.kind === 'budget' ? 'Continue' : 'Allow once'
  const no = approval.kind === 'plan' ? 'Reject' : 'Deny'
  const rows = row([
    [yes, 'allow'],
    [no, 'deny'],
  ])
  if (approval.kind !== 'tool') return rows
  return [...rows, [{ label: 'Allow always in this session', data: `approve:${approval.id}:always` }]]
}
