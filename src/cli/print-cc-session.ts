// `rockpool cc read` and `cc anatomy`: the conversation of one Claude Code session, and what fills its context.
import { stripVTControlCharacters } from 'node:util'
import { withoutTags } from '../domain/machine-text.ts'
import { toolLine } from '../flow/tool-line.ts'
import { shellWord } from '../domain/text.ts'
import type { OutputOf } from '../rpc/client.ts'
import { barOf } from './print-costs.ts'
import { timeOf } from './print-history.ts'
import { pricesOf } from './print-select.ts'
import { ago, count, oneLine, pad, pairs, prose, safe, styled, table, tokens, usd, visible } from './print.ts'
import type { Page, Printers, Style } from './print.ts'

type Card = OutputOf<'cc.read'>['cards'][number]
type Anatomy = OutputOf<'cc.anatomy'>

export const printers: Printers = { 'cc.anatomy': printAnatomy, 'cc.read': printCards }

function printCards({ sessionId, cards, before, kept }: OutputOf<'cc.read'>, page: Page): string {
  if (cards.length === 0) return 'The session has no messages.'
  const earlier = safe`… more before this: rockpool cc read ${shellWord(sessionId.slice(0, 8))} --before ${before ?? 0}`
  const more = before === undefined ? [] : [styled(page, 'dim', earlier)]
  const mark = kept ? [keptLine(sessionId, page)] : []
  return [...more, ...cards.map((card) => printCard(card, page)), ...mark].join('\n')
}

/** Claude Code's ids differ in their first characters; those of other agents begin with the time, or with a word. */
const claudeId = /^[0-9a-f]{8}-[0-9a-f]{4}-4/

/** For a session that only the vault has. */
export function keptLine(sessionId: string, page: Page): string {
  const id = shellWord(claudeId.test(sessionId) ? sessionId.slice(0, 8) : sessionId)
  const restore = `rockpool vault restore ${id}`
  return styled(
    page,
    'yellow',
    prose(`Deleted by its program, kept in the vault. Restore it: ${restore}`, page),
  )
}

/** Tool results are cut; `--json` has them whole. */
const maxResultLines = 12

const appearance: Readonly<Record<Card['kind'], { who: string; style: Style }>> = {
  prompt: { who: 'user', style: 'cyan' },
  text: { who: 'assistant', style: 'green' },
  thinking: { who: 'thinking', style: 'dim' },
  tool: { who: 'tool', style: 'dim' },
  result: { who: 'result', style: 'dim' },
  compaction: { who: 'compacted', style: 'magenta' },
  notice: { who: 'notice', style: 'yellow' },
}

function printCard({ kind, at, text, tool, isError, isRewound, raw }: Card, page: Page): string {
  const { who, style, said } = kind === 'prompt' ? promptOf(text) : { ...appearance[kind], said: text }
  const what = tool ? toolLine(tool.name, tool.input) : isError ? `${who} (failed)` : who
  const head = isRewound ? `${what} (rewound: not part of the conversation any more)` : what
  // An answer may be about such tags.
  const plain = kind === 'prompt' || kind === 'notice' ? withoutTags(said) : said
  const lines = visible(plain).trim().split('\n')
  const shown = kind === 'result' ? lines.slice(0, maxResultLines) : lines
  const left = lines.length - shown.length
  return [
    `${styled(page, 'dim', timeOf(at))} ${styled(page, isError ? 'red' : style, oneLine(head))}`,
    ...(text.trim() === '' ? [] : [prose(shown.join('\n'), page, 2)]),
    ...(left > 0 ? [styled(page, 'dim', `  … ${count(left, 'more line')}`)] : []),
    ...(raw === undefined ? [] : [styled(page, 'dim', prose(raw, page, 2))]),
  ].join('\n')
}

/** A record of type user can be a command of Claude Code or its output, which the person did not write as a message. */
function promptOf(text: string): { who: string; style: Style; said: string } {
  const tag = /^\s*<([a-z-]+)>/.exec(text)?.[1] ?? ''
  if (/^command-(name|message)$/.test(tag)) return { who: 'command', style: 'dim', said: commandIn(text) }
  if (tag === 'bash-input') return { who: 'shell command', style: 'dim', said: text }
  if (/^(local-command|bash)-std(out|err)$/.test(tag))
    return { who: 'command output', style: 'dim', said: stripVTControlCharacters(text) }
  return { ...appearance.prompt, said: text }
}

/** `/compact keep the tests`: without the repeated name of the command; other tags are removed like in every prompt. */
function commandIn(text: string): string {
  return text.replace(/<command-message>[\s\S]*?<\/command-message>/g, '').replace(/\s+/g, ' ')
}

function printAnatomy(anatomy: Anatomy, page: Page): string {
  const { calls, compactedAt, contextTokens, contextWindow, partial } = anatomy
  const fill = contextWindow > 0 ? ` (${Math.round((100 * contextTokens) / contextWindow)}%)` : ''
  const facts = pairs(page, {
    context: `${tokens(contextTokens)} of ${tokens(contextWindow)}${fill}`,
    cost: `${usd(calls.at(-1)?.costUsd ?? 0)} in ${count(calls.length, 'call')}`,
    compactions: compactionsOf(compactedAt, page),
    'price to resume': pricesOf(anatomy.price),
    'left out': partial ? 'the beginning: the file is very large' : undefined,
  })
  const parts = [facts, contextBars(anatomy, page), filesTable(anatomy, page), subagentsTable(anatomy, page)]
  return parts.filter((part) => part !== '').join('\n\n')
}

function compactionsOf(compactedAt: readonly number[], { now }: Page): string {
  if (compactedAt.length === 0) return 'none'
  const last = ago(Math.max(...compactedAt), now)
  return compactedAt.length === 1 ? `1, ${last}` : `${compactedAt.length}, the last ${last}`
}

/** What fills the context: a bar for each kind of content, in proportion to all of it. */
function contextBars({ context, contextTokens }: Anatomy, page: Page): string {
  const filled = context.filter((part) => part.tokens > 0)
  const room = Math.max(10, Math.min(40, page.width - 24))
  return filled
    .map(({ kind, tokens: size }) => {
      const bar = styled(page, 'cyan', barOf(size / Math.max(1, contextTokens), room))
      return `${pad(kind, 9)}  ${pad(tokens(size), 6, 'right')}  ${bar}`.trimEnd()
    })
    .join('\n')
}

function filesTable({ files }: Anatomy, page: Page): string {
  if (files.length === 0) return ''
  return table(page, files, {
    READ: { value: (file) => String(file.reads), align: 'right' },
    WRITTEN: { value: (file) => String(file.writes), align: 'right', min: 7 },
    FILE: { value: (file) => file.path, min: 20 },
  })
}

function subagentsTable({ subagents }: Anatomy, page: Page): string {
  if (subagents.length === 0) return ''
  return table(page, subagents, {
    'SUB-AGENT': { value: (one) => one.name, min: 9 },
    ABOUT: { value: (one) => one.about, min: 20 },
    WHEN: { value: (one) => ago(one.at, page.now), min: 8 },
  })
}
