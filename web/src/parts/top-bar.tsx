// The header: the usage windows, what today cost, how many sessions need a person, whether Claude is connected, and the search.
import { useContext } from 'preact/hooks'
import { usd, visible } from '../format.ts'
import { modKey } from '../keyboard.ts'
import { follow } from '../route.ts'
import type { Row } from '../rows.ts'
import { StatusContext } from './claude-state.tsx'
import type { Status } from './claude-state.tsx'
import { Link } from './link.tsx'

interface TopBarProps {
  /** They ask something, or failed and no person has looked at them. */
  waiting: Row[]
  /** The gateway is not reachable, so nothing is known about Claude. */
  isAway: boolean
  onFind: () => void
}

export function TopBar({ waiting, isAway, onFind }: TopBarProps) {
  const status = useContext(StatusContext)
  return (
    <header class="top-bar">
      <a class="brand" href="/" onClick={follow({ view: 'inbox' })}>
        <img src="/icon.svg" alt="" width="22" height="22" /> <span class="wide">Rockpool</span>
      </a>
      <button type="button" class="find" onClick={onFind}>
        Find <kbd>{modKey}K</kbd>
      </button>
      <span class="grow" />
      {waiting.length > 0 && (
        <Link class="needs" to={{ view: 'inbox' }}>
          <span class="badge">{waiting.length}</span> {needText(waiting)}
        </Link>
      )}
      {status && <Windows usage={status.usage} />}
      {status && <Today cost={status.cost} />}
      {status && !status.demo && !isAway && <Connection claude={status.claude} />}
    </header>
  )
}

/** The number of sessions that need a person includes failed ones, so it says how many those are. */
export function needText(waiting: Array<Pick<Row, 'state'>>): string {
  const failed = waiting.filter(({ state }) => state === 'failed').length
  return `${waiting.length === 1 ? 'needs you' : 'need you'}${failed === 0 ? '' : ` (${failed} failed)`}`
}

const shownWindows: Record<string, string> = { five_hour: '5 h', seven_day: 'Week' }

/** The usage windows of a subscription, as far as Claude has reported them. A phone has room only for those that run out. */
function Windows({ usage }: Pick<Status, 'usage'>) {
  return (
    <>
      {usage
        .filter(({ window }) => window in shownWindows)
        .map(({ window, name, usedPercent, state, forecast }) => (
          <Link
            key={window}
            class={`window ${state.replace(' ', '-')}`}
            to={{ view: 'cost' }}
            title={visible(`${name}: ${forecast}`)}
          >
            {shownWindows[window]}{' '}
            <meter max={100} value={usedPercent} aria-label={visible(`${name}: ${forecast}`)} />{' '}
            <strong>{Math.round(usedPercent)}%</strong>
          </Link>
        ))}
    </>
  )
}

interface TodayProps {
  cost: { todayUsd: number; parts: { chatsUsd: number; codingUsd: number; nativeUsd: number } }
}

/** One number; its parts in the title, and as text on the page of the costs. */
function Today({ cost: { todayUsd, parts } }: TodayProps) {
  const words = `coding sessions ${usd(parts.codingUsd)}, chats ${usd(parts.chatsUsd)}, outside Rockpool ${usd(parts.nativeUsd)}`
  return (
    <Link class="today" to={{ view: 'cost' }} title={`Today: ${words}`}>
      <span class="wide">Today</span> <strong>{usd(todayUsd)}</strong>
    </Link>
  )
}

function Connection({ claude }: { claude: { connected: boolean; source?: string; hint?: string } }) {
  const { connected, source, hint } = claude
  return (
    <span
      class={`claude ${connected ? 'connected' : 'missing'}`}
      title={visible((connected ? source : hint) ?? '')}
    >
      <span class="wide">Claude</span> {connected ? 'connected' : 'not connected'}
    </span>
  )
}
