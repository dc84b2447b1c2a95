// Whether Claude is connected, and what today cost: loaded once, shown in the header and on every view that needs Claude.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { OutputOf } from '../../../src/rpc/client.ts'
import { visible } from '../format.ts'
import { useLive } from '../live.ts'

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

/** Nothing while Claude is connected. */
export function ClaudeMissing({ isShort = false }: { isShort?: boolean }) {
  const claude = useContext(StatusContext)?.claude
  if (claude === undefined || claude.connected) return null
  if (isShort) return <span class="claude-missing">Claude is not connected</span>
  return (
    <p class="claude-missing" role="status">
      Claude is not connected, so no task can run. {visible(claude.hint ?? '')}
    </p>
  )
}
