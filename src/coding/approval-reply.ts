// How a question of a session looks in a chat.
import type { Approval } from '../domain/coding.ts'
import type { Reply } from '../domain/reply.ts'
import { questionsOf } from './question-text.ts'

/** What is asked, in full, with buttons where the platform has them and words where it has none. */
export function approvalReply(who: string, approval: Approval): Reply {
  const heading = {
    tool: `🔐 ${who} would like to use ${approval.toolName}:`,
    question: `❓ ${who} would like to know:`,
    plan: `📋 The plan of ${who}:`,
    budget: `💰 ${who}:`,
  }[approval.kind]
  const { id } = approval
  const words = {
    tool: `Answer yes or no, or /approve ${id}, /approve ${id} always, /deny ${id}`,
    question: `Answer with a number, or /approve ${id} <number or your own words>`,
    plan: `Answer yes or no, or revise: <what to change>, or /approve ${id}, /deny ${id} [what to change]`,
    budget: `Answer yes or no, or /approve ${id} <dollars>, /deny ${id}`,
  }[approval.kind]
  const what = `${id} · #${approval.inputHash.slice(0, 8)}`
  return {
    text: `${heading}\n${withVisibleControls(approval.shown)}\n\n${words} (${what})`,
    buttons: approvalButtons(approval),
  }
}

/** A command must look like what it does: what would hide or move text on a screen is written out. */
export function withVisibleControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) =>
    char === '\n' || char === '\t' ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`,
  )
}

function approvalButtons(approval: Approval): Reply['buttons'] {
  const button = (label: string, answer: string) => ({ label, data: `approve:${approval.id}:${answer}` })
  if (approval.kind === 'question') {
    const [first, ...more] = questionsOf(approval.input)
    return first && more.length === 0
      ? first.options.map((label, i) => [button(label, String(i + 1))])
      : undefined
  }
  const yes =
    approval.kind === 'plan' ? 'Approve the plan' : approval.kind === 'budget' ? 'Go on' : 'Allow once'
  const row = [button(yes, 'allow'), button(approval.kind === 'plan' ? 'Reject' : 'Deny', 'deny')]
  return approval.kind === 'tool' ? [row, [button('Allow always in this session', 'always')]] : [row]
}
