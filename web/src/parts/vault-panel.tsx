// The vault in the settings: what it keeps, how large it is, and how long Claude Code itself keeps sessions.
import { useState } from 'preact/hooks'
import type { OutputOf } from '../../../src/rpc/client.ts'
import { formatBytes } from '../../../src/domain/byte-size.ts'
import { count, visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { Loaded, Problem, Words } from './states.tsx'

type Status = OutputOf<'vault.status'>
type Retention = Status['retention'][number]

/** The offered number of days; the terminal takes any other. */
const offeredDays = 365

export function VaultPanel() {
  const vault = useLive('vault.status', {}, (event) => event.type === 'config-changed')
  return (
    <section class="panel" aria-label="Vault">
      <h2>Vault</h2>
      <Loaded live={vault}>
        {(status) => (
          <>
            <Kept status={status} />
            {status.retention.map((one) => (
              <HowLong key={one.configDir} retention={one} reload={vault.reload} />
            ))}
          </>
        )}
      </Loaded>
    </section>
  )
}

function Kept({ status }: { status: Status }) {
  const { enabled, sessions, gone, bytes, maxBytes, originalBytes, encrypted, folder, shared } = status
  if (!enabled)
    return (
      <p>
        Off. Turn it on in a terminal: <code>rockpool config set vault.enabled true</code>
      </p>
    )
  const share =
    originalBytes === 0 ? '' : `, ${((100 * bytes) / originalBytes).toFixed(0)} % of the originals`
  return (
    <>
      <p>
        Keeps {count(sessions, 'session')} in {formatBytes(bytes)} of at most {maxBytes / 1e9} GB
        {share}
        {encrypted ? ', encrypted' : ''}. {gone} of them were deleted by their programs.
      </p>
      <p class="faint">{visible(folder)}</p>
      {shared && <p class={shared.problem ? 'failed' : 'faint'}>{visible(sharedText(shared))}</p>}
      <p class="faint">
        Turn it off in a terminal: <code>rockpool config set vault.enabled false</code>
      </p>
    </>
  )
}

function sharedText({ address, machines, problem }: NonNullable<Status['shared']>): string {
  if (problem !== undefined) return `Shared in ${address}: ${problem}`
  return `Shared in ${address} by ${machines.map(({ machine }) => machine).join(', ') || 'no machine yet'}`
}

interface HowLongProps {
  retention: Retention
  reload: () => void
}

/** Says how long, and offers to change it: first the new settings file is shown, then it is written. */
function HowLong({ retention, reload }: HowLongProps) {
  const { configDir, days, isDefault, problem, deletedSoon, keptOfThem } = retention
  const [change, setChange] = useState<OutputOf<'vault.retention'>['change']>()
  const { run, busy, error } = useAction()
  const choose = async (apply: boolean): Promise<void> => {
    const answer = await run('vault.retention', { days: offeredDays, configDir, apply })
    setChange(apply ? undefined : answer?.change)
    if (apply && answer) reload()
  }
  return (
    <>
      <p>
        Claude Code deletes sessions in <code>{visible(configDir)}</code> after {count(days, 'day')}
        {isDefault ? ' (its default)' : ''}: {deletedSoon === 0 ? 'none' : deletedSoon} in the next 7 days
        {deletedSoon > 0 ? `, ${keptOfThem} of them kept` : ''}.
      </p>
      {problem && (
        <p class="failed">
          <Words text={problem} />
        </p>
      )}
      {error && <Problem text={error} />}
      {change && (
        <figure>
          <figcaption class="faint">{visible(change.settingsFile)}, as it would be:</figcaption>
          <pre>{visible(change.after)}</pre>
        </figure>
      )}
      <div class="buttons">
        {!change && days < offeredDays && (
          <button type="button" disabled={busy} onClick={() => void choose(false)}>
            Let Claude Code keep them for a year…
          </button>
        )}
        {change && (
          <>
            <button type="button" class="primary" disabled={busy} onClick={() => void choose(true)}>
              Write this file
            </button>
            <button type="button" disabled={busy} onClick={() => setChange(undefined)}>
              Cancel
            </button>
          </>
        )}
      </div>
    </>
  )
}
