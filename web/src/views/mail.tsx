// Mail: what sessions, chats and people wrote to each other, with receipts, and a form for a new message.
import { useState } from 'preact/hooks'
import type { InputOf } from '../../../src/rpc/client.ts'
import { visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { useSessions } from '../needs-you.ts'
import { MailLines, changesMail, type MailRow } from '../parts/mail-lines.tsx'
import { Empty, Loaded, Problem } from '../parts/states.tsx'
import { follow, pathOf } from '../route.ts'
import type { Look, Route } from '../route.ts'

/** By the name in the address; the first one shows everything. */
const boxes: Record<string, { label: string; input: InputOf<'mail.list'>; has?: (row: MailRow) => boolean }> =
  {
    all: { label: 'All', input: {} },
    inbox: { label: 'To you', input: { session: 'owner' }, has: ({ recipient }) => recipient === 'owner' },
    waiting: { label: 'Not delivered', input: { state: 'accepted' } },
  }

const here: Route = { view: 'mail' }

export function MailView({ look }: { look: Look }) {
  const box = look.tab !== undefined && look.tab in boxes ? look.tab : 'all'
  const { input, has = () => true } = boxes[box]!
  const list = useLive('mail.list', { ...input, limit: 100 }, changesMail)
  return (
    <div class="page mail">
      <h1>Mail</h1>
      <p class="faint">
        A message reaches a session that works with the results of its tools, and wakes one that waits.
        Sessions in a terminal need the plugin (Settings).
      </p>
      <NewMail onSent={list.reload} />
      <nav class="tabs" aria-label="Which messages">
        {Object.entries(boxes).map(([name, { label }]) => {
          const tab = name === 'all' ? undefined : name
          return (
            <a
              key={name}
              href={pathOf(here, { tab })}
              aria-current={name === box ? 'true' : undefined}
              onClick={follow(here, { tab })}
            >
              {label}
            </a>
          )
        })}
      </nav>
      <Loaded live={list}>
        {({ mail }) =>
          mail.some(has) ? (
            <MailLines mail={mail.filter(has)} label="Messages" />
          ) : (
            <Empty title="No messages">
              <p>
                Sessions write with the tool <code>mail_send</code>, people here or with{' '}
                <code>rockpool mail send</code>.
              </p>
            </Empty>
          )
        }
      </Loaded>
    </div>
  )
}

const shownNames = 200

function NewMail({ onSent }: { onSent: () => void }) {
  const { rows } = useSessions()
  const [to, setTo] = useState('')
  const [text, setText] = useState('')
  const { run, busy, error } = useAction()
  const named = rows.find((row) => row.name === to.trim())
  const submit = async (): Promise<void> => {
    // Two sessions may have one name; the list names the latest.
    const sent = await run('mail.send', { to: named?.sessionId ?? named?.id ?? to.trim(), text: text.trim() })
    if (!sent) return
    setText('')
    onSent()
  }
  return (
    <form
      class="new-mail"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <label>
        To
        <input
          list="mail-recipients"
          required
          value={to}
          placeholder="A session: its name or id"
          onInput={(event) => setTo(event.currentTarget.value)}
        />
      </label>
      <datalist id="mail-recipients">
        {rows.slice(0, shownNames).map((row) => (
          <option key={row.id} value={row.name}>
            {visible(row.repo)}
          </option>
        ))}
      </datalist>
      <label>
        Message
        <textarea rows={2} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={busy || to.trim() === '' || text.trim() === ''}>
        Send
      </button>
      {error && <Problem text={error} />}
    </form>
  )
}
