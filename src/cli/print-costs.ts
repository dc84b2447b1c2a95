// `rockpool cc costs`: a bar for each line of the report, and the totals below them.
import { dayIn, nextPeriod, periodOf } from '../domain/local-time.ts'
import type { TokenCounts } from '../domain/costs.ts'
import type { OutputOf } from '../rpc/client.ts'
import { cellWidth, oneLine, pad, pairs, prose, styled, tokens, truncate, usd } from './print.ts'
import type { Page, Printers } from './print.ts'

type CostReport = OutputOf<'cc.costs'>

export const printers: Printers = { 'cc.costs': printCosts }

function printCosts({ totals, parts, by, pricesAsOf, unpriced = [] }: CostReport, page: Page): string {
  const sum = pairs(page, {
    total: `${usd(totals.costUsd)}${totals.guessed ? ' (some prices guessed)' : ''}`,
    'of these': partsLine(parts),
    tokens: tokenLine(totals),
  })
  const note = styled(
    page,
    'dim',
    prose(
      `Estimated at API list prices of ${pricesAsOf}; subscriptions are billed differently. Each message counts once.${unpricedNote(unpriced)}`,
      page,
    ),
  )
  return by.length === 0 ? `${sum}\n${note}` : `${bars(withEmptyPeriods(by, page), page)}\n\n${sum}\n${note}`
}

/** Tokens of these models are counted without a cost. */
function unpricedNote(models: string[]): string {
  if (models.length === 0) return ''
  const some = models.slice(0, 5).map(oneLine).join(', ')
  return ` No price is known for ${some}${models.length > 5 ? ` and ${models.length - 5} more models` : ''}: their cost is not included.`
}

type Line = CostReport['by'][number] & { isNow?: boolean }

const maxPeriods = 400

/** Days, weeks and months without spending have a line, too, and the current one is marked. */
function withEmptyPeriods(lines: CostReport['by'], { input = {}, now }: Page): Line[] {
  const period = (['day', 'week', 'month'] as const).find((each) => each === input['by'])
  const first = lines.find(({ key }) => /^\d/.test(key))
  if (!period || !first) return lines
  const today = periodOf(period, dayIn()(now))
  const isOpen = input['until'] === undefined && input['lastDay'] === undefined
  const last = isOpen ? today : lines.at(-1)!.key
  const all: Line[] = lines.filter(({ key }) => !/^\d/.test(key))
  for (let key = first.key; key <= last && all.length < maxPeriods; key = nextPeriod(period, key)) {
    const known = lines.find((line) => line.key === key)
    all.push({ ...(known ?? { ...nothing, key, name: key }), isNow: key === today })
  }
  return all
}

const nothing = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheCreationTokens: 0,
  costUsd: 0,
  guessed: false,
  sessions: 0,
  messages: 0,
}

/** How much of a total chats, coding sessions and Claude Code without Rockpool spent. */
function partsLine({ chatsUsd, codingUsd, nativeUsd }: CostReport['parts']): string {
  return `chats ${usd(chatsUsd)}, coding sessions ${usd(codingUsd)}, outside Rockpool ${usd(nativeUsd)}`
}

export function costTodayLine({ todayUsd, parts, billing }: OutputOf<'status'>['cost']): string {
  const atApiPrices = billing === 'subscription' ? ' at API prices' : ''
  return `${usd(todayUsd)}${atApiPrices}${todayUsd > 0 ? ` (${partsLine(parts)})` : ''}`
}

const longestBar = 80

/** From this width on, tokens stand beside each amount. */
const tokensFromWidth = 100

const figures: ReadonlyArray<[title: string, of: (line: Line) => string]> = [
  ['COST', (line) => `${usd(line.costUsd)}${line.guessed ? '?' : ''}`],
  ['IN', (line) => tokens(line.inputTokens)],
  ['OUT', (line) => tokens(line.outputTokens)],
  ['CACHE READ', (line) => tokens(line.cacheReadTokens)],
  ['WRITTEN', (line) => tokens(line.cacheCreationTokens)],
]

/** The beginning of the id of a session, as other commands take it. */
function idIn({ key, name }: Line, { input = {} }: Page): string {
  const isId = input['by'] === 'session' && /^[\da-f]{8}-/.test(key) && key !== name
  return isId ? `${key.slice(0, 8)}  ` : ''
}

/** One line each: the name, the amount, tokens where there is room, and a bar in proportion to the largest amount. */
function bars(lines: Line[], page: Page): string {
  const hasTokens = page.width >= tokensFromWidth
  const shown = hasTokens ? figures : figures.slice(0, 1)
  const names = lines.map(
    (line) => `${idIn(line, page)}${oneLine(line.name) || '-'}${line.isNow ? ' (now)' : ''}`,
  )
  const widest = Math.max(...names.map((name) => cellWidth(name)))
  const nameWidth = Math.min(widest, Math.max(10, Math.floor(page.width * 0.45)))
  const cells = lines.map((line) => shown.map(([, of]) => of(line)))
  const widths = shown.map(([title], i) =>
    Math.max(hasTokens ? title.length : 0, ...cells.map((row) => row[i]!.length)),
  )
  const used = widths.reduce((sum, width) => sum + width + 2, nameWidth + 2)
  const room = Math.max(0, Math.min(page.width - used, longestBar))
  const largest = Math.max(...lines.map((line) => line.costUsd))
  const rowOf = (name: string, values: string[], bar: string): string =>
    [pad(name, nameWidth), ...values.map((value, i) => pad(value, widths[i]!, 'right')), bar]
      .join('  ')
      .trimEnd()
  const titles = shown.map(([title]) => title)
  const head = hasTokens ? [styled(page, 'dim', rowOf('', titles, ''))] : []
  const body = lines.map((line, i) => {
    const bar = styled(page, 'cyan', barOf(largest > 0 ? line.costUsd / largest : 0, room))
    return rowOf(shortened(names[i]!, nameWidth), cells[i]!, bar)
  })
  return [...head, ...body].join('\n')
}

/** A path is cut at its beginning, because its end is more useful. */
function shortened(name: string, width: number): string {
  if (cellWidth(name) <= width || !name.startsWith('/')) return truncate(name, width)
  const end = Array.from(name)
    .slice(-(width - 1))
    .join('')
  return cellWidth(end) < width ? `…${end}` : truncate(name, width)
}

/** Drawn in eighths of a cell. */
export function barOf(share: number, width: number): string {
  const eighths = Math.round(share * width * 8)
  const part = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8]!
  return '█'.repeat(Math.floor(eighths / 8)) + part
}

export function tokenLine(count: TokenCounts): string {
  const parts = [
    `${tokens(count.inputTokens)} in`,
    `${tokens(count.outputTokens)} out`,
    `${tokens(count.cacheReadTokens)} cache read`,
    `${tokens(count.cacheCreationTokens)} cache written`,
  ]
  return parts.join(', ')
}
