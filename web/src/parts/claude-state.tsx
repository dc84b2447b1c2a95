// Whether Claude is connected, and what today cost: loaded once, shown in the header and on every view that needs Claude.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { OutputOf } from '../../../src/rpc/client.ts'
import { useLive } from '../live.ts'
import { Words } from './states.tsx'

export type Status = OutputOf<'status'>

export const StatusContext = createContext<Status | undefined>(undefined)

export function useStatus(): Status | undefined {
  return useLive(
    'status',
    {},
    (event) => ['native-changed', 'turn-ended', 'config-changed'].includes(event.type),
    3_000,
  ).data
}

/** False if Claude has to work and is not connected. In the demo the offline agent plays Claude. */
export function useCanWork(agentKind = 'claude'): boolean {
  const status = useContext(StatusContext)
  return agentKind !== 'claude' || status === undefined || status.claude.connected || status.demo === true
}

/** Nothing while Claude is connected, and in the demo. `follows`: what follows from it in this view. */
export function ClaudeMissing({ follows }: { follows: string }) {
  const claude = useContext(StatusContext)?.claude
  if (useCanWork()) return null
  return (
    <p class="claude-missing" role="status">
      Claude is not connected, so {follows}. <Words text={claude?.hint ?? ''} />
    </p>
  )
}

export function DemoBanner() {
  if (!useContext(StatusContext)?.demo) return null
  return (
    <p class="demo" role="note">
      This is a demo with sample sessions. An offline agent answers instead of Claude; nothing is charged.
    </p>
  )
}
