// What an edit changed, line by line, with a sign as well as a colour.

export function Diff({ before, after }: { before: string; after: string }) {
  const { same, gone, come, rest } = difference(before.split('\n'), after.split('\n'))
  return (
    <pre class="diff">
      {same.slice(-3).map((line, i) => (
        <span key={`a${i}`}>{`  ${line}\n`}</span>
      ))}
      {gone.map((line, i) => (
        <del key={`g${i}`}>{`- ${line}\n`}</del>
      ))}
      {come.map((line, i) => (
        <ins key={`c${i}`}>{`+ ${line}\n`}</ins>
      ))}
      {rest.slice(0, 3).map((line, i) => (
        <span key={`r${i}`}>{`  ${line}\n`}</span>
      ))}
    </pre>
  )
}

/** The lines at both ends that stayed, and what stands between them before and after. */
function difference(before: string[], after: string[]): Record<'same' | 'gone' | 'come' | 'rest', string[]> {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end++
  return {
    same: before.slice(0, start),
    gone: before.slice(start, before.length - end),
    come: after.slice(start, after.length - end),
    rest: before.slice(before.length - end),
  }
}
