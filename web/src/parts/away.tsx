// Shown while the gateway is not reachable: a banner above the data, or a page if there is no data yet.
import { Empty } from './states.tsx'

export function AwayBanner() {
  return (
    <p class="away" role="status">
      The gateway is not reachable. This page reconnects by itself; if it does not, run{' '}
      <code>rockpool up</code>.
    </p>
  )
}

export function AwayAtStart() {
  return (
    <Empty title="The gateway is not reachable">
      <p role="status">Without it there is no data. This page tries to connect every few seconds.</p>
      <p>
        If it does not, run <code>rockpool up</code> in a terminal on its machine;{' '}
        <code>rockpool doctor</code> shows why it does not start.
      </p>
      <div class="buttons">
        <button type="button" onClick={() => location.reload()}>
          Retry now
        </button>
      </div>
    </Empty>
  )
}
