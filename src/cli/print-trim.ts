// `rockpool cc trim`: what a trimmed copy leaves out, what it saves, and how to continue.
import type { OutputOf } from '../rpc/client.ts'
import { pricesOf } from './print-select.ts'
import { count, oneLine, prose, styled, table, tokens } from './print.ts'
import type { Page, Printers } from './print.ts'

type Trim = OutputOf<'cc.trim'>

export const printers: Printers = { 'cc.trim': printTrim }

const maxShown = 30
const reasons: Readonly<Record<Trim['cutList'][number]['why'], string>> = {
  old: 'old',
  superseded: 'read again later',
  image: 'image',
}

function printTrim(trim: Trim, page: Page): string {
  const { cuts, cutList, copy, level, sessionId, tokensBefore, tokensAfter } = trim
  if (cuts === 0) return `Nothing to cut at the level ${level}.`
  const verb = copy ? `Trimmed as ${copy.sessionId}` : 'Would cut'
  const head = `${verb}: ${count(cuts, 'result')}, about ${tokens(tokensAfter)} instead of ${tokens(tokensBefore)} tokens. The original is unchanged.`
  const shown = table(page, cutList.slice(0, maxShown), {
    TOKENS: { value: (one) => tokens(one.tokens), align: 'right', min: 6 },
    WHY: { value: (one) => reasons[one.why], min: 5 },
    WHAT: { value: (one) => oneLine(one.what), min: 16 },
    HANDLE: page.width >= 110 && { value: (one) => one.handle, min: 29, style: 'dim' },
  })
  const more = cutList.length > maxShown ? [`… and ${cutList.length - maxShown} more (--json shows all)`] : []
  const next = copy
    ? `claude --resume ${copy.sessionId}`
    : `Do it: rockpool cc resume ${sessionId.slice(0, 8)} --trim ${level}`
  return [
    prose(head, page),
    [shown, ...more].join('\n'),
    prose(pricesOf(trim.price), page),
    styled(page, 'dim', next),
  ].join('\n\n')
}
