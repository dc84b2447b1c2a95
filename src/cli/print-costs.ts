// `rockpool cc costs`: a bar for each line of the report, and the totals below them.
import type { TokenCounts } from '../domain/discovered-session.ts'
import type { OutputOf } from '../rpc/client.ts'
import { cellWidth, oneLine, pad, pairs, prose, styled, tokens, truncate, usd } from './print.ts'
import type { Page, Printers } from './print.ts'

type CostReport = OutputOf<'cc.costs'>

export const printers: Printers = { 'cc.costs': printCosts }

function printCosts({ totals, parts, by, pricesAsOf }: CostReport, page: Page): string {
  const sum = pairs(page, {
    total: `${usd(totals.costUsd)}${totals.guessed ? ' (some prices guessed)' : ''}`,
    'of these': partsLine(parts),
    tokens: tokenLine(totals),
  })
  const note = styled(
    page,
    'dim',
    prose(
      `Estimated at API list prices of ${pricesAsOf}; subscriptions are billed differently. Each message counts once.`,
      page,
    ),
  )
  return by.length === 0 ? `${sum}\n${note}` : `${bars(by, page)}\n\n${sum}\n${note}`
}

/** How much of a total chats, coding sessions and Claude Code without Rockpool spent. */
function partsLine({ chatsUsd, codingUsd, nativeUsd }: CostReport['parts']): string {
  return `chats ${usd(chatsUsd)}, coding sessions ${usd(codingUsd)}, Claude Code alone ${usd(nativeUsd)}`
}

export function costTodayLine({ todayUsd, parts, billing }: OutputOf<'status'>['cost']): string {
  const atApiPrices = billing === 'subscription' ? ' at API prices' : ''
  return `${usd(todayUsd)}${atApiPrices}${todayUsd > 0 ? ` (${partsLine(parts)})` : ''}`
}

const longestBar = 80

/** One line each: the name, the amount, and a bar in proportion to the largest amount. */
function bars(lines: CostReport['by'], page: Page): string {
  const names = lines.map((line) => oneLine(line.name) || '-')
  const amounts = lines.map((line) => `${usd(line.costUsd)}${line.guessed ? '?' : ''}`)
  const amountWidth = Math.max(...amounts.map((text) => text.length))
  const widest = Math.max(...names.map((name) => cellWidth(name)))
  const nameWidth = Math.min(widest, Math.max(10, Math.floor(page.width * 0.45)))
  const room = Math.max(0, Math.min(page.width - nameWidth - amountWidth - 4, longestBar))
  const largest = Math.max(...lines.map((line) => line.costUsd))
  return lines
    .map((line, i) => {
      const name = pad(shortened(names[i]!, nameWidth), nameWidth)
      const bar = styled(page, 'cyan', barOf(largest > 0 ? line.costUsd / largest : 0, room))
      return `${name}  ${pad(amounts[i]!, amountWidth, 'right')}  ${bar}`.trimEnd()
    })
    .join('\n')
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
