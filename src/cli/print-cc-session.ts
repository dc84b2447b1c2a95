// One Claude Code session in a terminal: what was said in it, what it is made of, and what was done to it.
import type { Anatomy, Card } from '../domain/transcript-views.ts'
import type { SessionPrice } from '../domain/selection.ts'
import { toolLine } from '../flow/tool-line.ts'
import { barOf } from './print-costs.ts'
import { pricesOf } from './print-select.ts'
import { timeOf } from './print-sessions.ts'
import { ago, count, oneLine, pad, pairs, prose, styled, table, tokens, usd, visible } from './print.ts'
import type { Page, Style } from './print.ts'

interface Cards {
  sessionId: string
  cards: Card[]
  before?: number
}

export function printCards({ sessionId, cards, before }: Cards, page: Page): string {
  if (cards.length === 0) return 'Nothing was said in it.'
  const earlier = `… more before this: rockpool cc read ${sessionId.slice(0, 8)} --before ${before}`
  const more = before === undefined ? [] : [styled(page, 'dim', earlier)]
  return [...more, ...cards.map((card) => printCard(card, page))].join('\n')
}

/** Tool results are cut; `--json` has them whole. */
const maxResultLines = 12

const looks: Readonly<Record<Card['kind'], { who: string; style: Style }>> = {
  prompt: { who: 'user', style: 'cyan' },
  text: { who: 'assistant', style: 'green' },
  thinking: { who: 'thinking', style: 'dim' },
  tool: { who: 'tool', style: 'dim' },
  result: { who: 'result', style: 'dim' },
  compaction: { who: 'compacted', style: 'magenta' },
  notice: { who: 'notice', style: 'yellow' },
}

function printCard({ kind, at, text, tool, isError, isRewound, raw }: Card, page: Page): string {
  const { who, style } = looks[kind]
  const what = tool ? toolLine(tool.name, tool.input) : isError ? `${who} (failed)` : who
  const head = isRewound ? `${what} (rewound: not part of the conversation any more)` : what
  const lines = visible(text).trim().split('\n')
  const shown = kind === 'result' ? lines.slice(0, maxResultLines) : lines
  const left = lines.length - shown.length
  return [
    `${styled(page, 'dim', timeOf(at))} ${styled(page, isError ? 'red' : style, oneLine(head))}`,
    ...(text.trim() === '' ? [] : [prose(shown.join('\n'), page, 2)]),
    ...(left > 0 ? [styled(page, 'dim', `  … ${count(left, 'more line')}`)] : []),
    ...(raw === undefined ? [] : [styled(page, 'dim', prose(raw, page, 2))]),
  ].join('\n')
}

interface Made extends Anatomy {
  contextTokens: number
  contextWindow: number
  price: SessionPrice
}

export function printAnatomy(made: Made, page: Page): string {
  const { calls, compactedAt, contextTokens, contextWindow, partial } = made
  const fill = contextWindow > 0 ? ` ${Math.round((100 * contextTokens) / contextWindow)}%` : ''
  const facts = pairs(
    [
      ['context', `${tokens(contextTokens)}${fill} of ${tokens(contextWindow)}`],
      ['cost', `${usd(calls.at(-1)?.costUsd ?? 0)} in ${count(calls.length, 'call')}`],
      ['compactions', compactedAt.map((at) => ago(at, page.now)).join(', ') || 'none'],
      ['price to resume', pricesOf(made.price)],
      ['left out', partial ? 'the beginning: the file is very large' : undefined],
    ],
    page,
  )
  const parts = [facts, contextBars(made, page), filesTable(made, page), subagentsTable(made, page)]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** What fills the context, each with its share of all that can be in it now. */
function contextBars({ context, contextTokens }: Made, page: Page): string {
  const filled = context.filter((part) => part.tokens > 0)
  const room = Math.max(10, Math.min(40, page.width - 24))
  return filled
    .map(({ kind, tokens: size }) => {
      const bar = styled(page, 'cyan', barOf(size / Math.max(1, contextTokens), room))
      return `${pad(kind, 9)}  ${pad(tokens(size), 6, 'right')}  ${bar}`.trimEnd()
    })
    .join('\n')
}

function filesTable({ files }: Made, page: Page): string {
  if (files.length === 0) return ''
  const columns = [
    { title: 'READ', value: (file: Made['files'][number]) => String(file.reads), align: 'right' as const },
    {
      title: 'WRITTEN',
      value: (file: Made['files'][number]) => String(file.writes),
      align: 'right' as const,
      min: 7,
    },
    { title: 'FILE', value: (file: Made['files'][number]) => file.path, min: 20 },
  ]
  return table(files, columns, page)
}

function subagentsTable({ subagents }: Made, page: Page): string {
  if (subagents.length === 0) return ''
  const columns = [
    { title: 'SUB-AGENT', value: (one: Made['subagents'][number]) => one.name, min: 9 },
    { title: 'ABOUT', value: (one: Made['subagents'][number]) => one.about, min: 20 },
    { title: 'WHEN', value: (one: Made['subagents'][number]) => ago(one.at, page.now), min: 8 },
  ]
  return table(subagents, columns, page)
}

interface Changed {
  sessionId: string
  title?: string
  archived: boolean
}

export function printTitled({ sessionId, title }: Changed): string {
  return `${sessionId.slice(0, 8)} is now called ${oneLine(title ?? '')}.`
}

export function printPutAway({ sessionId, archived }: Changed, page: Page): string {
  const id = sessionId.slice(0, 8)
  if (!archived) return `${id} is in the lists again.`
  return prose(`${id} is out of the lists; \`rockpool cc archive ${id} --restore\` brings it back.`, page)
}
