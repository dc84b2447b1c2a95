// Views without data: empty, loading, failed. Each explains what to do.
import type { ComponentChildren } from 'preact'
import { visible } from '../format.ts'
import type { Live } from '../live.ts'

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export function Problem({ text, retry }: { text: string; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <span>
        <Words text={text} />
      </span>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** A text of the gateway; shows text between backticks as code. */
export function Words({ text }: { text: string }) {
  const parts = text.split(/`([^`\n]+)`/)
  return <>{parts.map((part, i) => (i % 2 === 0 ? visible(part) : <code key={i}>{visible(part)}</code>))}</>
}

/** Shows the data, or the loading or error state. */
export function Loaded<Output>({
  live,
  children,
}: {
  live: Live<Output>
  children: (data: Output) => ComponentChildren
}) {
  if (live.data !== undefined) return <>{children(live.data)}</>
  if (live.error !== undefined) return <Problem text={live.error} retry={live.reload} />
  return <Loading />
}

export function Loading() {
  return (
    <div class="loading" role="status" aria-label="Loading">
      <span class="bar" />
      <span class="bar" />
      <span class="bar" />
    </div>
  )
}
