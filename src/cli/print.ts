// Text for a terminal: tables that fit its width, readable ages and amounts, and no stored text that can control the
// terminal. Everything that comes from outside passes `visible` before it is printed.
import { stripVTControlCharacters, styleText } from 'node:util'
import { eastAsianWidth } from 'get-east-asian-width'
import { formatUsd } from '../domain/text.ts'
import type { MethodName, OutputOf } from '../rpc/client.ts'

/** The properties of the terminal and the command that printers use. */
export interface Page {
  width: number
  color: boolean
  now: number
  /** A person reads the output; otherwise it goes into a file or to a program. */
  interactive?: boolean
  /** The command keeps polling until it is interrupted. */
  following?: boolean
  /** The input of the operation, for printers that depend on its options. */
  input?: Readonly<Record<string, unknown>>
}

/** For each operation: its output as text for a terminal, without the last line break. */
export type Printers = { [Name in MethodName]?: (output: OutputOf<Name>, page: Page) => string }

export type Style = Parameters<typeof styleText>[0]

interface Column<Row> {
  value(row: Row): string
  align?: 'left' | 'right'
  /** The column is not made narrower than this as long as another column can shrink. */
  min?: number
  /** May be left out on a narrow page; the last optional column is left out first. */
  optional?: boolean
  style?: Style | ((row: Row) => Style | undefined)
}

/** By title, in their order. A function is a column without options; `false` leaves the column out. */
export type Columns<Row> = Readonly<Record<string, Column<Row> | ((row: Row) => string) | false>>

export function styled({ color }: { color: boolean }, style: Style, text: string): string {
  return color ? styleText(style, text, { validateStream: false }) : text
}

// Control characters, invisible ones, and those that change the writing direction; as escapes, so that this file has none.
const hidden =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu

/** Shows every character that could control a terminal or deceive a reader as its code. Keeps \n and \t. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(hidden, showCode)
}

/** Like `visible`, and without line breaks: for one cell or line. */
export function oneLine(text: string): string {
  return joinLines(text.trim())
}

/** A line of text in which no value can break the line or control the terminal: safe`Sent to ${name}.` */
export function safe(texts: TemplateStringsArray, ...values: Array<string | number>): string {
  return String.raw({ raw: texts }, ...values.map((value) => joinLines(String(value))))
}

function joinLines(text: string): string {
  return visible(text.replace(/\s*[\r\n\t]+\s*/g, ' '))
}

function showCode(character: string): string {
  const code = character.codePointAt(0)!
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
}

/** `3 min ago`, or `in 2 h` for a time in the future. */
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

/** An amount in a column: all have two decimals, so that they can be compared at a glance. */
export function usdCell(amount: number | undefined): string {
  if (amount === undefined) return '-'
  return amount > 0 && amount < 0.005 ? '<$0.01' : `$${amount.toFixed(2)}`
}

export { formatBytes as bytes } from '../domain/text.ts'

/** `1 file`, `2 files`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

/** How many terminal cells a text takes. The usual library for this compiles the list of all emoji when it is loaded (35 ms
 *  for every command); East Asian widths and three rules for emoji give the same result. */
export function cellWidth(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) width += clusterWidth(segment)
  return width
}

/** One character as a person sees it: a letter with its accents, an emoji of several parts. */
function clusterWidth(cluster: string): number {
  const base = cluster.match(/[^\p{Default_Ignorable_Code_Point}\p{Control}\p{Mark}\p{Surrogate}]/u)?.[0]
  if (base === undefined) return 0
  // An emoji requested by U+FE0F, a key cap, or a flag made of two letters.
  if (/\ufe0f|\u20e3|^[\u{1f1e6}-\u{1f1ff}]{2}/u.test(cluster)) return 2
  return eastAsianWidth(base.codePointAt(0)!)
}

/** Cuts to a width in terminal cells, never inside a character, and marks the cut with an ellipsis. */
export function truncate(text: string, width: number): string {
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

/** Breaks lines between words; a word that is longer than a line stays whole. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line !== '' && shownWidth(line) + 1 + shownWidth(word) > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

/** Breaks a line between words, and inside words that are longer than a line. Joined, the parts are the whole text. */
export function breakText(line: string, width: number): string[] {
  if (cellWidth(line) <= width) return [line]
  const lines: string[] = []
  let current = ''
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    if (cellWidth(current + segment) > width) {
      const end = current.trim() === '' ? 0 : current.lastIndexOf(' ') + 1
      const isIndent = current.slice(0, end).trim() === ''
      lines.push(isIndent ? current : current.slice(0, end))
      current = isIndent ? '' : current.slice(end)
    }
    current += segment
  }
  return [...lines, current]
}

/** The width without colour codes. */
function shownWidth(text: string): number {
  return cellWidth(stripVTControlCharacters(text))
}

/** Makes text visible and wraps it at the terminal's width; in a file or a pipe lines stay whole. */
export function prose(text: string, page: Page, indent = 0): string {
  return wrapped(visible(text), page, indent)
}

/** Like `prose`, for text that has passed through `visible` and may have colour codes. */
export function wrapped(text: string, page: Page, indent = 0): string {
  const space = ' '.repeat(indent)
  const lines = text.split('\n')
  const shown = page.interactive
    ? lines.flatMap((line) => wrap(line, Math.max(20, page.width - indent)))
    : lines
  return shown.map((line) => `${space}${line}`).join('\n')
}

/** A numbered list of steps. */
export function numbered(steps: readonly string[], page: Page): string {
  return steps.map((step, index) => `  ${index + 1}. ${prose(step, page, 5).trimStart()}`).join('\n')
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - cellWidth(text)))
  return align === 'left' ? text + space : space + text
}

/** A table that fits the page: the widest column shrinks first. */
export function table<Row>(page: Page, rows: readonly Row[], all: Columns<NoInfer<Row>>): string {
  const columns = withoutOptional(titled(all), page.width)
  const cells = rows.map((row) => columns.map((column) => oneLine(column.value(row))))
  const widths = columnWidths(columns, cells, page.width)
  const line = (texts: string[], paint: (text: string, index: number) => string): string =>
    texts
      .map((text, i) => paint(pad(truncate(text, widths[i]!), widths[i]!, columns[i]!.align), i))
      .join('  ')
      .trimEnd()
  const titles = columns.map(({ title }) => title)
  const body = rows.map((row, r) =>
    line(cells[r]!, (text, i) => {
      const { style } = columns[i]!
      const chosen = typeof style === 'function' ? style(row) : style
      return chosen ? styled(page, chosen, text) : text
    }),
  )
  return [line(titles, (text) => styled(page, 'dim', text)), ...body].join('\n')
}

type Titled<Row> = ReadonlyArray<Column<Row> & { title: string }>

function titled<Row>(columns: Columns<Row>): Titled<Row> {
  return Object.entries(columns).flatMap(([title, column]) => {
    if (column === false) return []
    return typeof column === 'function' ? [{ title, value: column }] : [{ title, ...column }]
  })
}

function withoutOptional<Row>(columns: Titled<Row>, pageWidth: number): Titled<Row> {
  const least = columns.reduce((sum, { min = 4 }) => sum + min + 2, -2)
  const last = columns.findLastIndex(({ optional }) => optional)
  return least <= pageWidth || last < 0 ? columns : withoutOptional(columns.toSpliced(last, 1), pageWidth)
}

function columnWidths<Row>(columns: Titled<Row>, cells: string[][], pageWidth: number): number[] {
  const widths = columns.map(({ title }, i) =>
    cells.reduce((widest, row) => Math.max(widest, cellWidth(row[i]!)), cellWidth(title)),
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

/** A value of `pairs`. Its style is added when control characters of the text are already visible. */
export type PairValue = string | { text: string; style?: Style }

/** Names and values below each other; undefined values are left out. */
export function pairs(page: Page, values: Readonly<Record<string, PairValue | undefined>>): string {
  const shown = Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined) return []
    return [{ name, ...(typeof value === 'string' ? { text: value, style: undefined } : value) }]
  })
  const width = Math.max(0, ...shown.map(({ name }) => cellWidth(name)))
  return shown
    .map(({ name, text, style }) => {
      const lines = prose(text, page, width + 2).trimStart()
      return `${styled(page, 'dim', pad(name, width))}  ${style ? styled(page, style, lines) : lines}`
    })
    .join('\n')
}

/** The output of an operation that has no printer of its own, as indented names and values. */
export function printFields(value: unknown, page: Page, indent = 0): string {
  if (typeof value !== 'object' || value === null) return visible(String(value))
  if (Array.isArray(value)) return value.map((item) => printItem(item, page, indent)).join('\n') || '(none)'
  const space = ' '.repeat(indent)
  return Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .map(([name, inner]) => {
      const label = `${space}${styled(page, 'dim', oneLine(name))}`
      const nested = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0
      return nested
        ? `${label}\n${printFields(inner, page, indent + 2)}`
        : `${label}  ${printEmpty(inner, page)}`
    })
    .join('\n')
}

function printItem(item: unknown, page: Page, indent: number): string {
  const nested = typeof item === 'object' && item !== null
  const text = printFields(item, page, indent + 2)
  return nested ? `${' '.repeat(indent)}- ${text.trimStart()}` : `${' '.repeat(indent)}- ${text}`
}

function printEmpty(value: unknown, page: Page): string {
  return typeof value === 'object' && value !== null ? '(none)' : printFields(value, page)
}
