// The difference of two texts, line by line: for edits that a person is asked to allow, and for those in a transcript.

export interface DiffLine {
  sign: ' ' | '-' | '+'
  line: string
}

const shownAround = 3
/** Above this many pairs of lines the difference is too slow to compute: all old lines, then all new ones. */
const maxPairs = 250_000

/** The changes, with a few of the unchanged lines before and after them. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  const most = Math.min(old.length, now.length) - start
  while (end < most && old[old.length - 1 - end] === now[now.length - 1 - end]) end++
  const same = (lines: string[]): DiffLine[] => lines.map((line) => ({ sign: ' ', line }))
  return [
    ...same(old.slice(Math.max(0, start - shownAround), start)),
    ...changes(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...same(old.slice(old.length - end).slice(0, shownAround)),
  ]
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n')
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
