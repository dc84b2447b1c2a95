// How a question of a session looks in a chat.
import type { Approval } from '../domain/coding.ts'
import type { Reply } from '../domain/reply.ts'
import { questionsOf } from './approvals.ts'

/** What is asked, in full, with buttons where the platform has them and words where it has none. */
export function approvalReply(who: string, approval: Approval): Reply {
  const heading = {
    tool: `🔐 ${who} would like to use ${approval.toolName}:`,
    question: `❓ ${who} would like to know:`,
    plan: `📋 The plan of ${who}:`,
    budget: `💰 ${who}:`,
  }[approval.kind]
  const words =
    approval.kind === 'question'
      ? `Answer: /approve ${approval.id} <number or your own words>`
      : `Answer: /approve ${approval.id} or /deny ${approval.id}`
  return { text: `${heading}\n${approval.shown}\n\n${words}`, buttons: approvalButtons(approval) }
}

function approvalButtons(approval: Approval): Reply['buttons'] {
  const button = (label: string, answer: string) => ({ label, data: `approve:${approval.id}:${answer}` })
  if (approval.kind === 'question') {
    const [first, ...more] = questionsOf(approval.input)
    return first && more.length === 0
      ? first.options.map((label, i) => [button(label, String(i + 1))])
      : undefined
  }
  const row = [button('Allow once', 'allow'), button('Deny', 'deny')]
  return approval.kind === 'tool' ? [row, [button('Allow always in this session', 'always')]] : [row]
}
