// The request of a session, as a person at a terminal sees it before the answer; and the lists of requests and rules.
import { requestHeading } from '../domain/request-heading.ts'
import { formatUsd } from '../domain/text.ts'
import { readableKey } from '../domain/session-key-forms.ts'
import type { OutputOf } from '../rpc/client.ts'
import { ago, breakText, oneLine, safe, styled, table, visible, wrap } from './print.ts'
import type { Page, Printers, Style } from './print.ts'

export type Approval = OutputOf<'approvals.list'>['approvals'][number]

export const printers: Printers = {
  'approvals.answer': (output, page) => {
    const { budgetUsd } = output
    const said = budgetUsd === undefined ? '' : `\nIts budget is now ${formatUsd(budgetUsd, 0.01)}.`
    return printApprovals(output, page) + said
  },
  'rules.list': ({ rules }, page) => {
    if (rules.length === 0) return 'There are no rules: sessions ask about everything.'
    return table(page, rules, {
      ID: { value: ({ id }) => id, min: 8 },
      RULE: { value: ({ text }) => text, min: 24 },
      FOR: {
        value: ({ session, sessionKey }) => session ?? readableKey(sessionKey ?? 'all sessions'),
        min: 12,
      },
      BY: { value: ({ grantedBy }) => grantedBy, optional: true },
      SINCE: { value: ({ grantedAt }) => ago(grantedAt, page.now), optional: true, min: 10 },
    })
  },
  'approvals.list': printApprovals,
}

function printApprovals({ approvals }: OutputOf<'approvals.answer'>, page: Page): string {
  if (approvals.length === 0) return 'Nothing waits for an answer.'
  return approvals
    .map((row) => {
      const by = row.answeredBy ? ` by ${row.answeredBy}` : ''
      const state = row.state === 'pending' ? '' : safe` ${row.state}${by}`
      const options = row.alike.map((id) => ` --alike ${id}`).join('')
      const alike = options === '' ? '' : ` (${row.alike.length + 1} ask the same; for all:${options})`
      const heading = `${styled(page, 'bold', row.id)}  ${headingOf(row)}  ${ago(row.askedAt, page.now)}`
      return `${heading}${state}${alike}\n${requestText(row, page).replace(/^/gm, '    ')}`
    })
    .join('\n\n')
}

/** Without a width lines stay whole. */
type RequestPage = Pick<Page, 'color'> & { width?: number }

/** Who asks what, and the whole request below it. */
export function printRequest(approval: Approval, page: RequestPage): string {
  const heading = wrap(headingOf(approval), page.width ?? Infinity).map((line) =>
    styled(page, 'yellow', line),
  )
  return [...heading, requestText(approval, page).replace(/^/gm, '    ')].join('\n')
}

/** `migrate-orders wants to run a command: Add the column`. */
function headingOf(approval: Approval): string {
  const { kind, session = 'Your agent', input } = approval
  const why = kind === 'tool' && typeof input['description'] === 'string' ? `: ${input['description']}` : ''
  return oneLine(`${session} ${requestHeading(approval)}${why}`)
}

const signStyles: Readonly<Record<string, Style>> = { '+': 'green', '-': 'red' }

/** The whole request, because a person must see what is approved. The heading has the description of a command already. */
function requestText({ shown, kind, toolName, input }: Approval, page: RequestPage): string {
  const isEdit = /^(Edit|MultiEdit|Write)$/.test(toolName) && kind === 'tool'
  const described = `description: ${JSON.stringify(input['description'])}`
  const lines = visible(shown).split('\n')
  return lines
    .filter((line) => kind !== 'tool' || isEdit || line !== described)
    .flatMap((line) => {
      const style = isEdit ? signStyles[line[0] ?? ''] : undefined
      const parts = breakText(line, Math.max(20, (page.width ?? Infinity) - 4))
      return style ? parts.map((part) => styled(page, style, part)) : parts
    })
    .join('\n')
}
