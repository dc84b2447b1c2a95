// What an edit changed, line by line, with a sign and a colour.
import { lineDiff } from '../../../src/domain/line-diff.ts'
import type { DiffLine } from '../../../src/domain/line-diff.ts'
import { visible } from '../format.ts'

export function Diff({ before, after }: { before: string; after: string }) {
  return (
    <pre class="diff">
      {lineDiff(before, after).map(({ sign, line }, i) => (
        <Line key={i} sign={sign} line={visible(line)} />
      ))}
    </pre>
  )
}

function Line({ sign, line }: DiffLine) {
  const text = `${sign} ${line}\n`
  if (sign === '-') return <del>{text}</del>
  return sign === '+' ? <ins>{text}</ins> : <span>{text}</span>
}
