// `rockpool cc trim` and `cc handoff`: what a copy leaves out, what it costs, and how to continue.
import { printableText } from '../domain/text.ts'
import type { OutputOf } from '../rpc/client.ts'
import { pricesOf } from './print-select.ts'
import { count, oneLine, pairs, prose, styled, table, tokens, usd } from './print.ts'
import type { Page, Printers } from './print.ts'

type Trim = OutputOf<'cc.trim'>

export const printers: Printers = { 'cc.trim': printTrim, 'cc.handoff': printHandoff }

type Handoff = OutputOf<'cc.handoff'>

function printHandoff(handoff: Handoff, page: Page): string {
  const { sessionId, from, turns, leftOut, price, resume, filePath } = handoff
  const parts = leftOut.map(({ what, count: many, why }) => `${what}: ${many} (${why})`)
  const cost = price.usd === undefined ? 'no price is known for its model' : usd(price.usd)
  const model =
    price.model === undefined ? '' : ` with ${price.model}${price.guessed ? ', price guessed' : ''}`
  return [
    `Handed over as ${sessionId}: ${count(turns, 'turn')} of ${from.agentKind} ${from.sessionId.slice(0, 13)}. The original is unchanged.`,
    pairs(page, {
      'left out': parts.length === 0 ? 'nothing' : parts.join('; '),
      'to continue': `about ${tokens(price.tokens)} tokens, ${cost}${model}`,
      file: filePath,
    }),
    styled(page, 'dim', printableText(resume)),
  ].join('\n')
}

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
