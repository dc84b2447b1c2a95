// Notifications while the page is closed: this browser by Web Push, and the list of all devices.
import { useEffect, useState } from 'preact/hooks'
import { ago } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { deviceHere, keepDeviceHere, stateOfBrowser, subscribeBrowser } from '../this-browser.ts'
import type { BrowserState } from '../this-browser.ts'
import { Loaded, Problem } from './states.tsx'

export function Devices() {
  const devices = useLive('devices.list', {})
  const { run, busy, error } = useAction()
  const act = async (method: 'devices.test' | 'devices.remove', id: string): Promise<void> => {
    if (await run(method, { id })) devices.reload()
  }
  return (
    <section class="panel" aria-label="Notifications when this page is closed">
      <h2>When this page is closed</h2>
      <ThisBrowser listed={devices.data?.devices.map(({ id }) => id)} onAdded={devices.reload} />
      <Loaded live={devices}>
        {(data) => (
          <ul class="names">
            {data.devices.map(({ id, name, kind, addedAt }) => (
              <li key={id}>
                <strong>{name}</strong> {kind === 'ntfy' ? 'ntfy' : 'browser'}, added {ago(addedAt)}{' '}
                <button type="button" disabled={busy} onClick={() => void act('devices.test', id)}>
                  Test
                </button>{' '}
                <button type="button" disabled={busy} onClick={() => void act('devices.remove', id)}>
                  Remove
                </button>
              </li>
            ))}
            <li class="faint">
              A phone without a browser: install the ntfy app, then{' '}
              <code>rockpool devices add &lt;topic&gt;</code>
            </li>
          </ul>
        )}
      </Loaded>
      {error && <Problem text={error} />}
    </section>
  )
}

function ThisBrowser({ listed, onAdded }: { listed?: string[]; onAdded: () => void }) {
  const [state, setState] = useState<BrowserState>('unknown')
  const [problem, setProblem] = useState<string>()
  const { run, error } = useAction()
  useEffect(() => void stateOfBrowser().then(setState), [])
  const subscribe = async (): Promise<void> => {
    const key = await run('devices.key', {})
    if (!key) return
    try {
      const subscription = await subscribeBrowser(key.publicKey)
      const added = await run('devices.add', subscription)
      if (!added) return
      keepDeviceHere(added.device.id)
      setState('on')
      onAdded()
    } catch (thrown) {
      setProblem(`This browser refused: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
    }
  }
  if (state === 'unknown' || listed === undefined) return null
  if (state === 'on' && listed.includes(deviceHere() ?? ''))
    return <p>This browser is notified when a session needs you.</p>
  if (state === 'impossible')
    return <p>This browser cannot be notified: that needs an address with https, or this machine itself.</p>
  return (
    <>
      <button type="button" onClick={() => void subscribe()}>
        Notify this browser
      </button>
      {(problem ?? error) && <Problem text={problem ?? error ?? ''} />}
    </>
  )
}
