// Talk to an agent in the page: its sessions at the side, the conversation as it is written.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { ago, download, visible } from '../format.ts'
import { useAction, useGateway, useLive } from '../live.ts'
import { Markdown } from '../parts/markdown.tsx'
import { Empty, Problem } from '../parts/states.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { go, pathOf } from '../route.ts'

interface SessionRow {
  key: string
  displayName?: string
  label?: string
  updatedAt: number
  archivedAt?: number
}

interface Entry {
  type: string
  id: string
  message?: { role: string; content: string | Array<{ type: string; text?: string; name?: string }> }
}

const ownKey = 'agent:main:web:direct:dashboard'

export function Chat({ sessionKey }: { sessionKey?: string }) {
  const key = sessionKey ?? ownKey
  const [archived, setArchived] = useState(false)
  const sessions = useLive<{ sessions: SessionRow[] }>('sessions.list', { limit: 50, archived }, (event) =>
    ['session-changed', 'session-deleted', 'turn-ended'].includes(event.type),
  )
  const current = sessions.data?.sessions.find((row) => row.key === key)
  return (
    <div class="session chat">
      <Talk sessionKey={key} />
      <aside class="about" aria-label="Conversations">
        <h2>Conversations</h2>
        <ul class="names">
          {sessions.data?.sessions.map((row) => (
            <li key={row.key}>
              <a
                href={pathOf({ view: 'chat', key: row.key })}
                aria-current={row.key === key ? 'page' : undefined}
                onClick={(event) => {
                  event.preventDefault()
                  go({ view: 'chat', key: row.key })
                }}
              >
                {visible(row.label ?? row.displayName ?? row.key)}
              </a>{' '}
              <span class="faint">{ago(row.updatedAt)}</span>
            </li>
          ))}
        </ul>
        {current && <Tidy row={current} reload={sessions.reload} />}
        <label>
          <input
            type="checkbox"
            checked={archived}
            onChange={(event) => setArchived(event.currentTarget.checked)}
          />{' '}
          Show archived ones
        </label>
      </aside>
    </div>
  )
}

/** A label, out of the list and back, and a copy. */
function Tidy({ row, reload }: { row: SessionRow; reload: () => void }) {
  const [label, setLabel] = useState(row.label ?? '')
  const { run, busy, error } = useAction()
  const { key } = row
  const copy = async (): Promise<void> => {
    const copied = (await run('sessions.export', { key, format: 'markdown' })) as { text: string } | undefined
    if (copied) download('conversation.md', copied.text)
  }
  const putAway = (): Promise<unknown> =>
    row.archivedAt ? run('sessions.restore', { ref: key }) : run('sessions.archive', { keys: [key] })
  return (
    <form
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

function Talk({ sessionKey }: { sessionKey: string }) {
  const history = useLive<{ entries: Entry[] }>(
    'sessions.history',
    { key: sessionKey, limit: 500 },
    (event) => ['transcript-appended', 'turn-ended', 'message-accepted'].includes(event.type),
  )
  const writing = useWriting(sessionKey)
  const said = useMemo(() => (history.data?.entries ?? []).flatMap(wordsOf), [history.data])
  const shown = [...said, ...(writing === '' ? [] : [{ id: 'writing', role: 'assistant', text: writing }])]
  return (
    <section class="conversation" aria-label="Conversation">
      {shown.length === 0 ? (
        <Empty title="Say hello">
          <p>Without a log-in to Claude, the offline agent answers and says how to connect it.</p>
        </Empty>
      ) : (
        <VirtualList
          items={shown}
          keyOf={(words) => `${words.id} ${words.text.length}`}
          label="What was said"
        >
          {(words) => (
            <article class={`card ${words.role === 'user' ? 'prompt' : 'answer'}`}>
              {words.role === 'user' ? <p class="said">{words.text}</p> : <Markdown text={words.text} />}
            </article>
          )}
        </VirtualList>
      )}
      <Say sessionKey={sessionKey} onSent={history.reload} />
    </section>
  )
}

/** What the agent is writing now, until it stands in the transcript. */
function useWriting(sessionKey: string): string {
  const gateway = useGateway()
  const [text, setText] = useState('')
  useEffect(() => {
    setText('')
    return gateway.listen(
      'sessions.messages',
      { key: sessionKey },
      {
        event(event) {
          if (event.type === 'turn-ended') setText('')
          if (event.type !== 'turn-event') return
          const { event: told } = event
          if (told.type === 'text-delta') setText((before) => before + told.text)
          if (told.type === 'text') setText('')
        },
        gap: () => setText(''),
      },
    )
  }, [gateway, sessionKey])
  return text
}

function Say({ sessionKey, onSent }: { sessionKey: string; onSent: () => void }) {
  const [text, setText] = useState('')
  const { run, busy, error } = useAction()
  const send = async (): Promise<void> => {
    const message = text.trim()
    if (message === '') return
    setText('')
    if ((await run('turns.send', { message, sessionKey })) === undefined) setText(message)
    onSent()
  }
  return (
    <form
      class="respond"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <label class="sr" for="say">
        Message
      </label>
      <textarea
        id="say"
        rows={2}
        value={text}
        placeholder="Write to the agent; Enter sends, Shift Enter breaks the line"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey) return
          event.preventDefault()
          void send()
        }}
      />
      <button type="submit" class="primary" disabled={busy || text.trim() === ''}>
        Send
      </button>
      <button type="button" onClick={() => void run('turns.stop', { sessionKey })}>
        Stop
      </button>
      {error && <Problem text={error} />}
    </form>
  )
}

function wordsOf(entry: Entry): Array<{ id: string; role: string; text: string }> {
  const { message, id } = entry
  if (!message || (message.role !== 'user' && message.role !== 'assistant')) return []
  const text =
    typeof message.content === 'string'
      ? message.content
      : message.content.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : [])).join('\n')
  return text.trim() === '' ? [] : [{ id, role: message.role, text }]
}
