// How full a context is: a bar with its share as text, never by colour alone.
import { tokens } from '../format.ts'

export function ContextGauge({ used, window }: { used?: number; window?: number }) {
  if (used === undefined || !window) return <span class="faint">–</span>
  const share = Math.min(1, used / window)
  const percent = Math.round(share * 100)
  const level = share > 0.85 ? 'high' : share > 0.6 ? 'middle' : 'low'
  const label = `${tokens(used)} of ${tokens(window)} tokens`
  return (
    <span class={`gauge ${level}`} title={label}>
      <progress max={100} value={percent} aria-label={`Context: ${label}`} />
      <span>{percent}%</span>
    </span>
  )
}
