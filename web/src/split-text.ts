// Splits a long text into parts that are shown one by one, so that its beginning is visible before its end is laid out. Markdown
// is split between its blocks, or between the items of a list; other text between its lines.
import type { Card } from './data.ts'

export interface CardPart {
  card: Card
  /** How it continues the previous part: after an empty line, or directly. */
  goesOn?: 'paragraph' | 'line'
}

const partChars = 1_000
/** A longer line is split inside. */
const lineChars = 8_000

export function partsOfCard(card: Card): CardPart[] {
  const isLong = card.text.length > partChars * 1.5
  if (!isLong || (card.kind !== 'text' && card.kind !== 'prompt')) return [{ card }]
  return splitText(card.text, card.kind === 'text').map(({ text, goesOn }) => ({
    card: { ...card, text },
    goesOn,
  }))
}

interface TextPart {
  text: string
  goesOn?: 'paragraph' | 'line'
}

export function splitText(text: string, isMarkdown: boolean): TextPart[] {
  const parts: TextPart[] = []
  let lines: string[] = []
  let goesOn: TextPart['goesOn']
  let size = 0
  let fence: string | undefined
  const end = (next: TextPart['goesOn']): void => {
    parts.push({ text: lines.join('\n'), goesOn })
    lines = []
    size = 0
    goesOn = next
  }
  for (const line of text.split('\n').flatMap(withoutEndless)) {
    const seam = isMarkdown ? seamBefore(line, lines.at(-1), fence) : 'line'
    if (size >= partChars && seam !== undefined) end(seam)
    if (isMarkdown) fence = fenceAfter(line, fence)
    lines.push(line)
    size += line.length + 1
  }
  end(undefined)
  return parts
}

function withoutEndless(line: string): string[] {
  if (line.length <= lineChars) return [line]
  const count = Math.ceil(line.length / lineChars)
  return Array.from({ length: count }, (_, i) => line.slice(i * lineChars, (i + 1) * lineChars))
}

/** True if the text so far is complete without this line. */
function seamBefore(line: string, before: string | undefined, fence: string | undefined): TextPart['goesOn'] {
  if (fence !== undefined || line === '' || /^\s/.test(line)) return undefined
  if (before?.trim() === '') return 'paragraph'
  return /^([-*+]|\d{1,9}[.)])\s/.test(line) ? 'line' : undefined
}

/** The fence that ends the code block that contains this line. */
function fenceAfter(line: string, fence: string | undefined): string | undefined {
  const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
  if (mark === undefined) return fence
  if (fence === undefined) return mark
  return mark.startsWith(fence) ? undefined : fence
}
