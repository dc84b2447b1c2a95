// The transcript of a session: `rockpool history`, `sessions tail`, `sessions lost` and `sessions export`.
import type { OutputOf } from '../rpc/client.ts'
import { oneLine, prose, safe, styled, visible } from './print.ts'
import type { Page, Printers } from './print.ts'

type History = OutputOf<'sessions.history'>
type Entry = History['entries'][number]

export const printers: Printers = {
  // The text itself, so that it can be written to a file; in a terminal it must not control the terminal.
  'sessions.export': ({ text }, page) => (page.interactive ? visible(text.trimEnd()) : text.trimEnd()),
  'sessions.history': printHistory,
  'sessions.lost': ({ key, compactions, total, lines, cut }, page) => {
    if (cut) return printCut(cut, page)
    if (compactions === 0) return safe`${key} was never compacted: all of it is in the context.`
    if (lines.length === 0) return 'No removed message has these words.'
    const shown = lines.flatMap(({ role, text, at }) => [
      `${styled(page, 'dim', timeOf(at))} ${oneLine(role)}`,
      prose(text, page, 2),
    ])
    const more = lines.length < total ? [`The last ${lines.length} of ${total}; --limit shows more.`] : []
    return [...shown, ...more].join('\n')
  },
  'sessions.tail': printHistory,
}

/** The text itself, word for word unless a terminal shows it. */
function printCut({ text, next, images }: NonNullable<OutputOf<'sessions.lost'>['cut']>, page: Page): string {
  const more = next === undefined ? [] : [styled(page, 'dim', `… more after this: --from ${next}`)]
  const pictures = images.map(({ mediaType }) =>
    styled(page, 'dim', `[${oneLine(mediaType)}: --json has it]`),
  )
  return [page.interactive ? visible(text) : text, ...pictures, ...more].filter(Boolean).join('\n')
}

function printHistory({ key, entries, damage, before }: History, page: Page): string {
  const lines = entries.flatMap((entry) => printEntry(entry, page))
  const notes = damage.map((what) => styled(page, 'yellow', `! ${visible(what)}`))
  const more = before === undefined ? [] : [styled(page, 'dim', `… more before this: --before ${before}`)]
  const isEmpty = lines.length + notes.length + more.length === 0 && !page.following
  return isEmpty ? safe`Nothing was said in ${key} yet.` : [...more, ...lines, ...notes].join('\n')
}

function printEntry(entry: Entry, page: Page): string[] {
  const when = styled(page, 'dim', timeOf(entry.timestamp))
  if (entry.type === 'message') return printMessage(entry['message'] as Message, when, page)
  if (entry.type === 'compaction')
    return [`${when} ${styled(page, 'magenta', 'compacted')}`, prose(textOf(entry['summary']), page, 2)]
  if (entry.type === 'model_change')
    return [`${when} ${styled(page, 'dim', `model ${textOf(entry['modelId'])}`)}`]
  if (entry.type === 'thinking_level_change')
    return [`${when} ${styled(page, 'dim', `thinking ${textOf(entry['thinkingLevel'])}`)}`]
  return []
}

/** In the time of this machine: `2026-11-15 21:04:05`. */
export function timeOf(timestamp: string | number): string {
  const at = typeof timestamp === 'number' ? timestamp : Date.parse(timestamp)
  // Sweden writes dates as ISO does.
  return Number.isNaN(at) || at === 0 ? '-' : new Date(at).toLocaleString('sv-SE')
}

interface Message {
  role: string
  content: unknown
  toolName?: unknown
  isError?: unknown
  model?: unknown
  stopReason?: unknown
  /** A program or a hook, if one of them wrote it. */
  writer?: unknown
}

interface Block {
  type: string
  text?: unknown
  name?: unknown
  arguments?: unknown
}

/** A text that was delivered without a model (a notice, a message sent by hand) is marked `delivered`. */
function speakerOf({ role, toolName, isError, model, writer }: Message): string {
  if (writer !== undefined) return `${textOf(writer)}, not the agent`
  if (role === 'toolResult') return `${textOf(toolName)}${isError ? ' failed' : ''}`
  return model === 'delivery-mirror' ? 'delivered' : role
}

function printMessage(message: Message, when: string, page: Page): string[] {
  const blocks: Block[] =
    typeof message.content === 'string'
      ? [{ type: 'text', text: message.content }]
      : ((message.content ?? []) as Block[])
  const color = message.role === 'user' ? 'cyan' : message.role === 'assistant' ? 'green' : 'dim'
  const who = speakerOf(message)
  const lines = blocks.flatMap((block) => {
    if (block.type === 'text')
      return [`${when} ${styled(page, color, oneLine(who))}`, prose(textOf(block.text), page, 2)]
    if (block.type === 'toolCall') {
      const input = oneLine(JSON.stringify(block.arguments ?? {})).slice(0, page.width)
      return [`${when} ${styled(page, 'dim', `uses ${oneLine(textOf(block.name))} ${input}`)}`]
    }
    return block.type === 'image' ? [`${when} ${styled(page, 'dim', '[image]')}`] : []
  })
  if (message.stopReason === 'aborted')
    lines.push(`${when} ${styled(page, 'yellow', 'stopped before its end')}`)
  return lines
}

function textOf(text: unknown): string {
  return visible(typeof text === 'string' ? text : '').trimEnd()
}
