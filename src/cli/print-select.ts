// `rockpool cc select`, `cc select --eval` and `cc why`: the decision, then the scores behind it.
import type { SessionScore, SessionSelection } from '../domain/selection.ts'
import type { Evaluation } from '../discovery/evaluate.ts'
import type { OutputOf } from '../rpc/client.ts'
import { ago, count, duration, oneLine, prose, styled, table, tokens, usd, wrapped } from './print.ts'
import type { Page, Printers } from './print.ts'

const maxShown = 10
const colors = { resume: 'green', fork: 'cyan', fresh: 'blue', queue: 'yellow' } as const

export const printers: Printers = {
  'cc.select': (output, page) =>
    'results' in output
      ? printEvaluation(output, page)
      : `${printSelection(output, page)}\n\n${styled(page, 'dim', launchCommand(output, page))}`,
  'cc.why': ({ decisions }, page) => decisions.map((decision) => printDecision(decision, page)).join('\n\n'),
}

function launchCommand({ scores, sessionId }: SessionSelection, { input }: Page): string {
  const task = input?.['task']
  const isShort = typeof task === 'string' && /^[^"$`\\\n]{1,60}$/.test(task)
  const words = [`"${isShort ? oneLine(task) : '…'}"`, ...launchOptions(input)]
  const command = `Do it: rockpool cc launch ${words.join(' ')}`
  const isTrimOffered = scores.find((one) => one.sessionId === sessionId)?.price?.trimmed?.offered
  return isTrimOffered ? `${command}, or in the trimmed copy: --trim` : command
}

/** Repeats the options that the choice depends on: the person may type the launch in another directory. */
function launchOptions(input: Page['input'] = {}): string[] {
  const names = { repo: '--repo', agent: '--agent', agentKind: '--agent-kind', label: '--label' }
  return Object.entries(names).flatMap(([name, option]) => {
    const value = input[name]
    if (typeof value !== 'string') return []
    return [
      option,
      /^[\w./~:@-]+$/.test(value) ? value : `'${oneLine(value).replaceAll("'", String.raw`'\''`)}'`,
    ]
  })
}

function printSelection(selection: SessionSelection, page: Page): string {
  const { action, reason, scores, fallback } = selection
  const [head, ...rest] = oneLine(reason).split(': ')
  const blocks = [
    wrapped(
      `${styled(page, ['bold', colors[action]], head!)}${rest.map((part) => `: ${part}`).join('')}`,
      page,
    ),
    fallback === undefined
      ? ''
      : styled(page, 'yellow', prose(`! Ranked by shared words only: ${oneLine(fallback)}.`, page)),
    scores.length > 0 ? printScores(scores, page) : '',
    printPrices(scores, selection.sessionId, page),
  ]
  return blocks.filter((block) => block !== '').join('\n\n')
}

function printScores(scores: SessionScore[], page: Page): string {
  const isNarrow = page.width < 90
  const factor = (of: keyof SessionScore['factors']) => (one: SessionScore) => signed(one.factors[of])
  const shown = table(page, scores.slice(0, maxShown), {
    SESSION: { value: (one) => one.sessionId.slice(0, one.agentKind ? 13 : 8), min: 8 },
    AGENT: scores.some(({ agentKind }) => agentKind) && { value: (one) => one.agentKind ?? 'claude', min: 6 },
    ABOUT: { value: (one) => one.title ?? '-', min: isNarrow ? 10 : 16 },
    SCORE: { value: (one) => one.total.toFixed(2), align: 'right', style: 'bold', min: 5 },
    BRANCH: { value: factor('branch'), align: 'right', min: 6 },
    RECENT: { value: factor('recency'), align: 'right', min: 6 },
    TASK: { value: factor('relevance'), align: 'right', min: 5 },
    HEALTH: { value: factor('health'), align: 'right', min: 5, optional: true },
    ROOM: { value: factor('capacity'), align: 'right', min: 5, optional: true },
    RESUME: { value: (one) => usd(one.price?.resumeUsd), align: 'right', min: 7 },
    CACHE: { value: (one) => one.price?.cache ?? '-', optional: true },
    WHY: !isNarrow && {
      value: (one) => one.ceiling ?? one.reason,
      min: 16,
      style: (one) => (one.ceiling ? 'red' : undefined),
    },
  })
  const more = scores.length - maxShown
  return more > 0 ? `${shown}\n${styled(page, 'dim', `… ${more} more (--json shows all)`)}` : shown
}

function printPrices(scores: SessionScore[], sessionId: string | undefined, page: Page): string {
  const price = scores.find((one) => one.sessionId === sessionId)?.price
  if (!price) return ''
  return styled(page, 'dim', prose(`${tokens(price.tokens)} tokens, ${pricesOf(price)}`, page))
}

/** The price of each way to continue (resume, trim, compact, fresh), and what that way keeps. */
export function pricesOf(price: OutputOf<'cc.anatomy'>['price'] & { guessed?: boolean }): string {
  const why = price.coldBecause === undefined ? '' : ` (${price.coldBecause})`
  const warm = price.warmForMs === undefined ? `cold${why}` : `warm for ${duration(price.warmForMs)}`
  const sure = price.sure === undefined ? '' : `, ${Math.round(price.sure * 100)} % sure`
  const { trimmed, secondOpinion } = price
  const opinion = secondOpinion ? `; Claude Code expects it to be ${secondOpinion.cache}` : ''
  const prices = [
    `resume or fork ${usd(price.resumeUsd)} (${warm}${sure}${opinion}; keeps everything)`,
    ...(trimmed ? [`trimmed ${usd(trimmed.usd)} (without ${count(trimmed.cuts, 'old result')})`] : []),
    `compact first ${usd(price.compactThenResumeUsd)} (keeps a summary)`,
    `fresh with a brief ${usd(price.freshUsd)} (keeps the brief)`,
  ]
  const guess = price.guessed ? ' · prices guessed from the model family' : ''
  return `${prices.join(' · ')}${guess}`
}

function printDecision(decision: OutputOf<'cc.why'>['decisions'][number], page: Page): string {
  const became = decision.becameSessionId ? ` -> ${decision.becameSessionId.slice(0, 8)}` : ''
  const head = `${decision.id}  ${ago(decision.at, page.now)}  ${oneLine(decision.repoPath)}${became}`
  const task = `${styled(page, 'dim', 'task')}  ${oneLine(decision.task)}`
  return [styled(page, 'dim', head), task, printSelection(decision.selection, page)].join('\n')
}

function printEvaluation(evaluation: Evaluation, page: Page): string {
  const { decisions, resumed, fresh, sessions, repositories, results, notes } = evaluation
  if (decisions === 0)
    return 'There is no history to replay yet: no session was resumed, and no repository has a second one.'
  const percent = (share: number): string => `${Math.round(share * 100)}%`
  const where = `${sessions} sessions of ${repositories === 1 ? 'one repository' : `${repositories} repositories`}`
  const head = `Replayed ${decisions} decisions from ${where}: ${count(resumed, 'return')} to a session, ${count(fresh, 'new session')}.`
  const shown = table(page, results, {
    METHOD: { value: (one) => one.method, min: 11 },
    'HIT RATE': { value: (one) => percent(one.hitRate), align: 'right', min: 8 },
    MRR: { value: (one) => one.mrr.toFixed(2), align: 'right', min: 4 },
    AGREES: { value: (one) => percent(one.agreement), align: 'right', min: 6 },
  })
  const explained = [
    'selection is what `rockpool cc select` chooses; the other two are simple rules to compare it with: the session that was used last, and the most words in common.',
    'Hit rate: how often the session that a person returned to ranked first. MRR: mean of 1 / its rank. Agrees: the same choice in all decisions, new sessions included.',
  ]
  return [
    prose(head, page),
    shown,
    ...explained.map((text) => styled(page, 'dim', prose(text, page))),
    ...notes.map((note) => prose(`! ${oneLine(note)}`, page)),
  ].join('\n\n')
}

function signed(number: number): string {
  return `${number < 0 ? '' : '+'}${number.toFixed(2)}`
}
