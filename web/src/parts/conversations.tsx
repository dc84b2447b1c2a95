// The list of conversations on every channel, and the agents to start another one with.
import { useState } from 'preact/hooks'
import { ago, download, readableKey, visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { follow, pathOf } from '../route.ts'
import { Problem } from './states.tsx'
import { Switch } from './switch.tsx'
import { useShowToast } from './toasts.tsx'

interface SessionRow {
  key: string
  agentId: string
  displayName?: string
  derivedTitle?: string
  lastMessagePreview?: string
  label?: string
  channel?: string
  updatedAt: number
  archivedAt?: number
}

const changes = ['session-changed', 'session-deleted', 'turn-ended']

export function Conversations({ current, own }: { current: string; own: string }) {
  const [archived, setArchived] = useState(false)
  const sessions = useLive(
    'sessions.list',
    { limit: 100, archived, includeDerivedTitles: true, includeLastMessage: true },
    (event) => changes.includes(event.type),
    400,
  )
  const rows = sessions.data?.sessions ?? []
  const row = rows.find((one) => one.key === current)
  return (
    <aside class="talk-list" aria-label="Conversations">
      <h2>Conversations</h2>
      {row && <NewConversation sessionKey={row.key} reload={sessions.reload} />}
      <ul class="talks">
        {!archived && !rows.some((one) => one.key === own) && (
          <Talk
            row={{ key: own, agentId: 'main', updatedAt: 0, label: 'Chat on this page' }}
            current={current}
          />
        )}
        {rows.map((one) => (
          <Talk
            key={one.key}
            row={one.key === own ? { label: 'Chat on this page', ...one } : one}
            current={current}
          />
        ))}
      </ul>
      {archived && rows.length === 0 && <p class="faint">Nothing is archived.</p>}
      <Switch label="Show archived" checked={archived} set={setArchived} />
      <Agents known={new Set(rows.map((one) => one.key))} current={current} />
      {row && <Tidy key={row.key} row={row} reload={sessions.reload} />}
    </aside>
  )
}

/** Under the same key; the earlier conversation is archived and can be brought back. */
function NewConversation({ sessionKey: key, reload }: { sessionKey: string; reload: () => void }) {
  const showToast = useShowToast()
  const { run, busy, error } = useAction()
  const start = async (): Promise<void> => {
    const started = await run('sessions.reset', { key, reason: 'new' })
    if (!started) return
    reload()
    const undo = (): void => void run('sessions.restore', { ref: started.archived ?? key }).then(reload)
    showToast({ text: 'New conversation; the earlier one is archived', undo })
  }
  return (
    <>
      <button type="button" disabled={busy} onClick={() => void start()}>
        New conversation
      </button>
      {error && <Problem text={error} />}
    </>
  )
}

/** A display name that was made from the key is less useful than the last message. */
function nameOf({ label, displayName, derivedTitle, key }: SessionRow): string {
  const given = displayName?.includes(':g-agent-') ? undefined : displayName
  return label ?? readableKey(given ?? derivedTitle ?? key)
}

function Talk({ row, current }: { row: SessionRow; current: string }) {
  const route = { view: 'chat', key: row.key } as const
  return (
    <li>
      <a
        href={pathOf(route)}
        aria-current={row.key === current ? 'page' : undefined}
        title={visible(readableKey(row.key))}
        onClick={follow(route)}
      >
        <span class="name">{visible(nameOf(row))}</span>
        <span class="faint age">{row.updatedAt === 0 ? '' : ago(row.updatedAt)}</span>
        <span class="faint last">{visible(inOneLine(row.lastMessagePreview)) || 'Nothing was said yet'}</span>
      </a>
    </li>
  )
}

/** Removes the marks of Markdown for a single line. */
function inOneLine(text = ''): string {
  return text.replaceAll(/\*\*|__|`+/g, '')
}

/** Every agent has a main session; it starts with the first message. */
function Agents({ known, current }: { known: Set<string>; current: string }) {
  const agents = useLive('agents.list', {})
  const others = (agents.data?.agents ?? []).filter(({ id }) => !known.has(`agent:${id}:main`))
  if (others.length === 0) return null
  return (
    <>
      <h2>Start with an agent</h2>
      <ul class="talks">
        {others.map(({ id, name }) => (
          <Talk
            key={id}
            current={current}
            row={{ key: `agent:${id}:main`, agentId: id, updatedAt: 0, label: name ?? id }}
          />
        ))}
      </ul>
    </>
  )
}

/** Sets the label, archives or restores, and exports. */
function Tidy({ row, reload }: { row: SessionRow; reload: () => void }) {
  const [label, setLabel] = useState(row.label ?? '')
  const { run, busy, error } = useAction()
  const { key } = row
  const copy = async (): Promise<void> => {
    const copied = await run('sessions.export', { key, format: 'markdown' })
    if (copied?.text !== undefined) download('conversation.md', copied.text)
  }
  const putAway = (): Promise<unknown> =>
    row.archivedAt ? run('sessions.restore', { ref: key }) : run('sessions.archive', { keys: [key] })
  return (
    <form
      class="tidy"
      onSubmit={(event) => {
        event.preventDefault()
        void run('sessions.label', { key, label: label.trim() || null }).then(reload)
      }}
    >
      <label for="label">Label of this conversation</label>
      <input id="label" value={label} onInput={(event) => setLabel(event.currentTarget.value)} />
      <div class="buttons">
        <button type="submit" disabled={busy}>
          Label
        </button>
        <button type="button" disabled={busy} onClick={() => void putAway().then(reload)}>
          {row.archivedAt ? 'Restore' : 'Archive'}
        </button>
        <button type="button" disabled={busy} onClick={() => void copy()}>
          Export
        </button>
      </div>
      {error && <Problem text={error} />}
    </form>
  )
}
