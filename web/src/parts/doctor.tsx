// The findings of the doctor, and the button that fixes them.
import { useEffect, useState } from 'preact/hooks'
import type { OutputOf } from '../../../src/rpc/client.ts'
import { visible } from '../format.ts'
import { useAction } from '../live.ts'
import { ClaudeMissing, useCanWork } from './claude-state.tsx'
import { Problem, Words } from './states.tsx'

export function Doctor() {
  const [found, setFound] = useState<OutputOf<'doctor'>>()
  const { run, busy, error } = useAction()
  const isConnected = useCanWork()
  const examine = async (fix: boolean): Promise<void> => {
    setFound(await run('doctor', { fix }))
  }
  useEffect(() => void examine(false), [])
  return (
    <section class="panel" aria-label="Doctor">
      <h2>Doctor</h2>
      <div class="buttons">
        <button type="button" disabled={busy} onClick={() => void examine(false)}>
          {busy ? 'Checking…' : 'Check again'}
        </button>
        {found?.findings.some((one) => one.fixable) && found.fixed === 0 && (
          <button type="button" class="primary" disabled={busy} onClick={() => void examine(true)}>
            Fix problems
          </button>
        )}
      </div>
      {error && <Problem text={error} />}
      <ClaudeMissing follows="no task can run" />
      {found && (
        <div role="status">
          {found.findings.length === 0 && isConnected && <p>No problems found.</p>}
          {found.fixed > 0 && <p>{found.fixed} fixed.</p>}
          <ul class="names">
            {found.findings.map((one, i) => (
              <li key={i}>
                <Words text={one.problem} /> <code>{visible(one.where)}</code>
                <p class="faint">
                  <Words text={one.remedy} />
                </p>
              </li>
            ))}
            {found.failed.map((text) => (
              <li key={text} class="failed">
                <Words text={text} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  )
}
