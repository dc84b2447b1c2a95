// How things look in a terminal: tables that fit, ages that people read, and stored text that cannot drive the
// terminal. Everything that comes from outside passes `visible` before it is printed.
import { stripVTControlCharacters, styleText } from 'node:util'
import { formatUsd } from '../domain/text.ts'
import { cellWidth } from './cell-width.ts'

/** What a printer needs to know of the terminal. */
export interface Page {
  width: number
  color: boolean
  now: number
  /** A person reads it; otherwise it goes into a file or to a program. */
  interactive?: boolean
  /** The command keeps polling until it is interrupted. */
  following?: boolean
  /** What was asked, for printers that show more on demand. */
  input?: Readonly<Record<string, unknown>>
}

export type Style = Parameters<typeof styleText>[0]

export interface Column<Row> {
  title: string
  value(row: Row): string
  align?: 'left' | 'right'
  /** Never made narrower than this while another column can give way. */
  min?: number
  /** May be left out where the page is too narrow; the last such column goes first. */
  spare?: boolean
  style?: Style | ((row: Row) => Style | undefined)
}

export function styled(page: Page, style: Style, text: string): string {
  return page.color ? styleText(style, text, { validateStream: false }) : text
}

// Controls, invisible characters and those that turn the direction of writing. Written as escapes on purpose.
const hidden =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu

/** The text with everything that could drive a terminal or deceive a reader shown as its code. Keeps \n and \t. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(hidden, showCode)
}

/** For one cell or line: also without line breaks. */
export function oneLine(text: string): string {
  return visible(text.replace(/\s*[\r\n\t]+\s*/g, ' ').trim())
}

function showCode(character: string): string {
  const code = character.codePointAt(0)!
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
}

/** `3 min ago` for a moment in the past, `in 2 h` for one to come. */
export function ago(at: number | undefined, now: number): string {
  if (at === undefined || !Number.isFinite(at)) return '-'
  const text = duration(Math.abs(now - at))
  if (Math.abs(now - at) < 1000) return 'now'
  return at > now ? `in ${text}` : `${text} ago`
}

export function duration(ms: number): string {
  const steps: Array<[number, string]> = [
    [365 * 86_400_000, 'y'],
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1000, 's'],
  ]
  for (const [size, unit] of steps) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`
  return `${Math.round(ms)} ms`
}

export function tokens(count: number | undefined): string {
  if (count === undefined) return '-'
  if (count < 1000) return String(count)
  return count < 1_000_000
    ? `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k`
    : `${(count / 1e6).toFixed(1)}M`
}

export function usd(amount: number | undefined): string {
  return amount === undefined ? '-' : formatUsd(amount)
}

export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let unit = 0
  for (; count >= 1024 && unit < units.length - 1; unit++) count /= 1024
  return `${count < 10 && unit > 0 ? count.toFixed(1) : Math.round(count)} ${units[unit]}`
}

/** `1 file`, `2 files`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

/** Cuts to a width in terminal cells, never inside a character, and says so with an ellipsis. */
export function fit(text: string, width: number): string {
  if (cellWidth(text) <= width) return text
  let used = 0
  let kept = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const next = used + cellWidth(segment)
    if (next > width - 1) break
    kept += segment
    used = next
  }
  return width > 0 ? `${kept}…` : ''
}

/** Lines that break between words; a word that is longer than a line stays whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line !== '' && shownWidth(line) + 1 + shownWidth(word) > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

/** Without what we painted it with. */
function shownWidth(text: string): number {
  return cellWidth(stripVTControlCharacters(text))
}

/** Wraps prose at the terminal's width with an indent; without a terminal lines are not wrapped. */
export function prose(text: string, page: Page, indent = 0): string {
  return broken(visible(text), page, indent)
}

/** The same for text that was made visible and painted. */
export function broken(text: string, page: Page, indent = 0): string {
  const space = ' '.repeat(indent)
  const lines = text.split('\n')
  const fitting = page.interactive
    ? lines.flatMap((line) => wrap(line, Math.max(20, page.width - indent)))
    : lines
  return fitting.map((line) => `${space}${line}`).join('\n')
}

/** What is to be done one after the other. */
export function numbered(steps: readonly string[], page: Page): string {
  return steps.map((step, index) => `  ${index + 1}. ${prose(step, page, 5).trimStart()}`).join('\n')
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - cellWidth(text)))
  return align === 'left' ? text + space : space + text
}

/** A table that fits the page: the widest columns give way first. */
export function table<Row>(rows: readonly Row[], all: ReadonlyArray<Column<Row>>, page: Page): string {
  const columns = withoutSpare(all, page.width)
  const cells = rows.map((row) => columns.map((column) => oneLine(column.value(row))))
  const widths = fitWidths(columns, cells, page.width)
  const line = (texts: string[], paint: (text: string, index: number) => string): string =>
    texts
      .map((text, i) => paint(pad(fit(text, widths[i]!), widths[i]!, columns[i]!.align), i))
      .join('  ')
      .trimEnd()
  const head = line(
    columns.map((column) => column.title),
    (text) => styled(page, 'dim', text),
  )
  const body = rows.map((row, r) =>
    line(cells[r]!, (text, i) => {
      const { style } = columns[i]!
      const chosen = typeof style === 'function' ? style(row) : style
      return chosen ? styled(page, chosen, text) : text
    }),
  )
  return [head, ...body].join('\n')
}

function withoutSpare<Row>(
  columns: ReadonlyArray<Column<Row>>,
  pageWidth: number,
): ReadonlyArray<Column<Row>> {
  const least = columns.reduce((sum, { min = 4 }) => sum + min + 2, -2)
  const last = columns.findLastIndex(({ spare }) => spare)
  return least <= pageWidth || last < 0 ? columns : withoutSpare(columns.toSpliced(last, 1), pageWidth)
}

function fitWidths<Row>(columns: ReadonlyArray<Column<Row>>, cells: string[][], pageWidth: number): number[] {
  const widths = columns.map((column, i) =>
    cells.reduce((widest, row) => Math.max(widest, cellWidth(row[i]!)), cellWidth(column.title)),
  )
  const least = (i: number): number => Math.min(widths[i]!, columns[i]!.min ?? 4)
  let over = widths.reduce((sum, width) => sum + width + 2, -2) - pageWidth
  while (over > 0) {
    const shrinkable = widths.map((width, i) => (width > least(i) ? width : -1))
    const widest = shrinkable.indexOf(Math.max(...shrinkable))
    if (shrinkable[widest] === -1) break
    widths[widest]!--
    over--
  }
  return widths
}

/** Names and values below each other; what is undefined is left out. */
export function pairs(values: Array<[string, string | undefined]>, page: Page): string {
  const shown = values.filter((pair): pair is [string, string] => pair[1] !== undefined)
  const width = Math.max(0, ...shown.map(([name]) => cellWidth(name)))
  return shown
    .map(
      ([name, value]) =>
        `${styled(page, 'dim', pad(name, width))}  ${prose(value, page, width + 2).trimStart()}`,
    )
    .join('\n')
}

/** Any answer, readable: for operations that have no printer of their own. */
export function printAnything(value: unknown, page: Page, indent = 0): string {
  if (typeof value !== 'object' || value === null) return visible(String(value))
  if (Array.isArray(value)) return value.map((item) => printItem(item, page, indent)).join('\n') || '(none)'
  const space = ' '.repeat(indent)
  return Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .map(([name, inner]) => {
      const label = `${space}${styled(page, 'dim', oneLine(name))}`
      const nested = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0
      return nested
        ? `${label}\n${printAnything(inner, page, indent + 2)}`
        : `${label}  ${printEmpty(inner, page)}`
    })
    .join('\n')
}

function printItem(item: unknown, page: Page, indent: number): string {
  const nested = typeof item === 'object' && item !== null
  const text = printAnything(item, page, indent + 2)
  return nested ? `${' '.repeat(indent)}- ${text.trimStart()}` : `${' '.repeat(indent)}- ${text}`
}

function printEmpty(value: unknown, page: Page): string {
  return typeof value === 'object' && value !== null ? '(none)' : printAnything(value, page)
}
