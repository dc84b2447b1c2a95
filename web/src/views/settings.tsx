// Channels, pairing, agents, the vault, the doctor, and the configuration with the origin of each value.
import { useState } from 'preact/hooks'
import { visible } from '../format.ts'
import { useAction, useLazy, useLive } from '../live.ts'
import { ClaudePlugin } from '../parts/claude-plugin.tsx'
import { Devices } from '../parts/devices.tsx'
import { Doctor } from '../parts/doctor.tsx'
import { OnPhone } from '../parts/on-phone.tsx'
import { Loaded, Problem } from '../parts/states.tsx'
import { Switch } from '../parts/switch.tsx'
import { VaultPanel } from '../parts/vault-panel.tsx'
import { follow, pathOf } from '../route.ts'

export function Settings() {
  return (
    <div class="page settings">
      <h1>Channels and settings</h1>
      <div class="panels">
        <Channels />
        <People />
        <Agents />
        <OnPhone />
        <Notifications />
        <Devices />
        <ClaudePlugin />
        <VaultPanel />
        <Doctor />
      </div>
      <Configuration />
    </div>
  )
}

function Channels() {
  const channels = useLive('channels.status', {}, (event) => event.type === 'channel-status')
  return (
    <section class="panel" aria-label="Channels">
      <h2>Channels</h2>
      <Loaded live={channels}>
        {(data) => (
          <ul class="names">
            {data.channels.map((row) => (
              <li key={`${row.channel}${row.accountId}`}>
                <strong>{row.channel}</strong> {row.accountId === 'default' ? '' : row.accountId}{' '}
                <span class={`chip ${row.state}`}>{row.state}</span> {row.identity?.name}
                {row.needs && <Needed {...row.needs} />}
                {row.lastError && <p class="faint">{row.lastError}</p>}
              </li>
            ))}
            <li class="faint">
              Add one in a terminal: <code>rockpool channels add telegram</code>
            </li>
          </ul>
        )}
      </Loaded>
    </section>
  )
}

function Needed({ kind, detail }: { kind: string; detail: string }) {
  return kind === 'qr' ? <Scan text={detail} /> : <p>{visible(detail)}</p>
}

function Scan({ text }: { text: string }) {
  const QrCode = useLazy(() => import('../parts/qr.tsx'))
  return (
    <figure class="scan">
      {QrCode && <QrCode text={text} label="QR code that links WhatsApp" />}
      <figcaption>On your phone: WhatsApp, Linked devices, Link a device, then scan this.</figcaption>
    </figure>
  )
}

function People() {
  const pairing = useLive('pairing.list', {}, (event) => event.type === 'pairing-changed')
  const { run, busy, error } = useAction()
  const decide = (verb: 'approve' | 'deny', code: string): void => {
    void run(`pairing.${verb}`, { code }).then(pairing.reload)
  }
  return (
    <section class="panel" aria-label="People">
      <h2>Who may talk</h2>
      {error && <Problem text={error} />}
      <Loaded live={pairing}>
        {({ pending, people, firstOwns }) => (
          <ul class="names">
            {firstOwns && pending.length > 0 && (
              <li class="faint">The first person whom you approve becomes the owner.</li>
            )}
            {pending.map((request) => (
              <li key={request.code}>
                <strong>{visible(request.name ?? request.senderId)}</strong> on {request.channel} asks to
                talk, code <code>{request.code}</code>
                <div class="buttons">
                  <button
                    type="button"
                    class="primary"
                    disabled={busy}
                    onClick={() => decide('approve', request.code)}
                  >
                    Approve
                  </button>
                  <button type="button" disabled={busy} onClick={() => decide('deny', request.code)}>
                    Deny
                  </button>
                </div>
              </li>
            ))}
            {people.map((person) => (
              <li key={`${person.channel}${person.senderId}`}>
                {visible(person.name ?? person.senderId)} <span class="faint">{person.channel}</span>
                {person.owner && <span class="chip">owner</span>}
                {!person.owner && person.standing !== 'guest' && (
                  <span class="chip">may not write: {person.standing}</span>
                )}
              </li>
            ))}
            {pending.length + people.length === 0 && <li class="faint">No pairing requests yet.</li>}
          </ul>
        )}
      </Loaded>
    </section>
  )
}

function Agents() {
  const agents = useLive('agents.list', {}, (event) => event.type === 'config-changed')
  return (
    <section class="panel" aria-label="Agents">
      <h2>Agents</h2>
      <Loaded live={agents}>
        {(data) => (
          <ul class="names">
            {data.agents.map((agent) => {
              const route = { view: 'chat', key: `agent:${agent.id}:main` } as const
              return (
                <li key={agent.id}>
                  <a href={pathOf(route)} onClick={follow(route)}>
                    {visible(agent.name ?? agent.id)}
                  </a>{' '}
                  {agent.default && <span class="chip">default</span>}{' '}
                  <span class="faint">{visible(agent.model ?? '')}</span>
                  <br />
                  <span class="faint">{visible(agent.workspace)}</span>
                </li>
              )
            })}
            <li class="faint">
              Add one in a terminal: <code>rockpool agents add work</code>
            </li>
          </ul>
        )}
      </Loaded>
    </section>
  )
}

const permissionWords: Record<NotificationPermission, string> = {
  default: 'While this page is open, get a notification when a session needs you.',
  granted: 'While this page is open in the background, you get a notification when a session needs you.',
  denied: 'The browser refuses notifications from this page. Its settings for this site can change that.',
}

function Notifications() {
  const isKnown = 'Notification' in window
  const [permission, setPermission] = useState(isKnown ? Notification.permission : 'denied')
  return (
    <section class="panel" aria-label="Notifications">
      <h2>Notifications</h2>
      <p>{permissionWords[permission]}</p>
      {permission === 'default' && (
        <button type="button" onClick={() => void Notification.requestPermission().then(setPermission)}>
          Allow notifications
        </button>
      )}
    </section>
  )
}

function Configuration() {
  const [words, setWords] = useState('')
  const [onlySet, setOnlySet] = useState(false)
  const config = useLive('config.show', { origin: true }, (event) => event.type === 'config-changed')
  return (
    <section aria-label="Configuration">
      <h2>Configuration</h2>
      <div class="filter">
        <input
          type="search"
          aria-label="Filter the configuration"
          placeholder="Filter"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <Switch label="Only changed" checked={onlySet} set={setOnlySet} />
      </div>
      <Loaded live={config}>
        {(data) => {
          const lines = Object.entries(data.origins ?? {}).filter(
            ([key, { origin }]) => key.includes(words.trim()) && !(onlySet && origin === 'default'),
          )
          return (
            <>
              <p class="faint">{visible(data.file)}</p>
              <table class="config">
                <tbody>
                  {lines.map(([key, { value, origin }]) => (
                    <tr key={key} class={origin === 'default' ? '' : 'set'}>
                      <th scope="row">
                        {key
                          .split('.')
                          .flatMap((part, i) => (i === 0 ? [part] : [<wbr key={i} />, `.${part}`]))}
                      </th>
                      <td>
                        <code>{visible(JSON.stringify(value))}</code>
                      </td>
                      <td class="faint">{origin}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {lines.length === 0 && (
                <p class="faint">No setting matches. All other settings have their default value.</p>
              )}
            </>
          )
        }}
      </Loaded>
    </section>
  )
}
