// What an edit changed, line by line, with a sign and a colour.
import { visible } from '../format.ts'

export function Diff({ before, after }: { before: string; after: string }) {
  return (
    <pre class="diff">
      {differenceOf(linesOf(before), linesOf(after)).map(({ sign, line }, i) => (
        <Line key={i} sign={sign} line={visible(line)} />
      ))}
    </pre>
  )
}

function Line({ sign, line }: { sign: Sign; line: string }) {
  const text = `${sign} ${line}\n`
  if (sign === '-') return <del>{text}</del>
  return sign === '+' ? <ins>{text}</ins> : <span>{text}</span>
}

type Sign = ' ' | '-' | '+'
interface DiffLine {
  sign: Sign
  line: string
}

const shownAround = 3
/** Above this many pairs of lines the difference is too slow to compute: all old lines, then all new ones. */
const maxPairs = 250_000

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n')
}

/** The changes, with a few of the unchanged lines before and after them. */
export function differenceOf(before: string[], after: string[]): DiffLine[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  const same = (lines: string[]): DiffLine[] => lines.map((line) => ({ sign: ' ', line }))
  return [
    ...same(before.slice(Math.max(0, start - shownAround), start)),
    ...changes(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end).slice(0, shownAround)),
  ]
}

/** By the longest common subsequence of lines. */
function changes(gone: string[], come: string[]): DiffLine[] {
  const minus = (line: string): DiffLine => ({ sign: '-', line })
  const plus = (line: string): DiffLine => ({ sign: '+', line })
  if (gone.length * come.length > maxPairs) return [...gone.map(minus), ...come.map(plus)]
  const common = commonLengths(gone, come)
  const lines: DiffLine[] = []
  let i = 0
  let j = 0
  while (i < gone.length && j < come.length) {
    if (gone[i] === come[j]) {
      lines.push({ sign: ' ', line: gone[i]! })
      i++
      j++
    } else if (common[i + 1]![j]! >= common[i]![j + 1]!) lines.push(minus(gone[i++]!))
    else lines.push(plus(come[j++]!))
  }
  return [...lines, ...gone.slice(i).map(minus), ...come.slice(j).map(plus)]
}

/** The number of common lines at the end. */
function commonLengths(gone: string[], come: string[]): Uint32Array[] {
  const lengths = Array.from({ length: gone.length + 1 }, () => new Uint32Array(come.length + 1))
  for (let i = gone.length - 1; i >= 0; i--) {
    for (let j = come.length - 1; j >= 0; j--) {
      lengths[i]![j] =
        gone[i] === come[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!)
    }
  }
  return lengths
}
