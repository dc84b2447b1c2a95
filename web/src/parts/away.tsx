// The line to the gateway is lost. What is on the page stays; a page that was opened without a gateway has nothing yet.
import { Empty } from './states.tsx'

export function AwayBanner() {
  return (
    <p class="away" role="status">
      The gateway is away. This page comes back by itself; if it does not, run <code>rockpool up</code>.
    </p>
  )
}

export function AwayFromTheStart() {
  return (
    <Empty title="The gateway is away">
      <p role="status">
        Nothing can be shown without it. This page asks for it every few seconds and comes back by itself.
      </p>
      <p>
        If it does not, run <code>rockpool up</code> in a terminal on the machine where it lives;{' '}
        <code>rockpool doctor</code> says what keeps it from starting.
      </p>
      <div class="buttons">
        <button type="button" onClick={() => location.reload()}>
          Look now
        </button>
      </div>
    </Empty>
  )
}
