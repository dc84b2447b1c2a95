// Shows a preview of an answer while the agent writes it: at a limited rate, from a minimum length on, with code blocks
// closed. The whole answer goes through the outbox at the end.
import type { Clock } from '../domain/clock.ts'
import { parseDirectives } from './compose.ts'

/** The pause between two updates. */
const updateMs = 1_500

export interface StreamOptions {
  clock: Clock
  /** Replaces the shown text. One call at a time. */
  show: (text: string) => Promise<void>
  /** The longest text that can be shown; a longer one stops growing. */
  maxChars: number
  firstChars?: number
}

export interface PreviewStream {
  /** A piece of text. */
  push(delta: string): void
  /** A block of text is complete; the next one starts a new paragraph. */
  endBlock(): void
  /** No more updates; resolves when the last one has been shown. */
  end(): Promise<void>
}

export function makePreviewStream(options: StreamOptions): PreviewStream {
  const { clock, show, maxChars, firstChars = 80 } = options
  let text = ''
  let shown = ''
  let ended = false
  let showing: Promise<void> | undefined
  let cancelTimer: (() => void) | undefined

  const update = (): void => {
    cancelTimer = undefined
    const next = previewOf(text, maxChars)
    if (ended || showing || next === shown || next.length < (shown === '' ? firstChars : 1)) return
    shown = next
    showing = show(next).finally(() => {
      showing = undefined
      schedule()
    })
    // A failed preview loses nothing: the whole answer is sent at the end.
    showing.catch(() => {})
  }
  const schedule = (): void => {
    if (!ended && !cancelTimer && !showing) cancelTimer = clock.after(updateMs, update)
  }
  return {
    push(delta) {
      text += delta
      schedule()
    },
    endBlock() {
      if (text !== '' && !text.endsWith('\n\n')) text += '\n\n'
    },
    async end() {
      ended = true
      cancelTimer?.()
      // The failure is handled above.
      await showing?.catch(() => {})
    },
  }
}

/** The part of an unfinished text that can be shown: whole words, no directives, an open code block closed. */
export function previewOf(text: string, maxChars: number): string {
  const said = parseDirectives(withoutOpenTag(wholeWords(text))).text
  const cut = said.slice(0, maxChars - 8)
  const fences = cut.split('\n').filter((line) => /^ {0,3}```/.test(line)).length
  const body = cut.trimEnd()
  if (body === '') return ''
  return fences % 2 === 1 ? `${body}\n\`\`\`` : `${body} …`
}

/** Removes an unfinished directive at the end. */
function withoutOpenTag(text: string): string {
  return text.replace(/\[\[[^\]\n]{0,210}\]?$/, '')
}

function wholeWords(text: string): string {
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf(' '))
  return end < 0 ? '' : text.slice(0, end)
}
