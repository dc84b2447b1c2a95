// The preview of a session in the list: its last messages, its question, and the answer to it.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { InputOf } from '../../../src/rpc/client.ts'
import type { Approval, CodingRow } from '../data.ts'
import { visible } from '../format.ts'
import { isWriting } from '../keyboard.ts'
import { useAction, useLive } from '../live.ts'
import { CardView } from './cards.tsx'
import { Loaded, Problem } from './states.tsx'

interface PeekProps {
  row: CodingRow
  approval: Approval | undefined
  onAnswered: () => void
}

export function Peek({ row, approval, onAnswered }: PeekProps) {
  const output = useLive(
    'coding.output',
    { session: row.id, lines: 6 },
    (event) => event.type === 'coding-output' && event.id === row.id,
  )
  return (
    <div class="peek">
      <pre>{visible(output.data?.lines.join('\n') ?? '') || 'No output yet.'}</pre>
      {approval ? (
        <AnswerApproval approval={approval} onAnswered={onAnswered} />
      ) : (
        <Respond row={row} onSent={onAnswered} />
      )}
    </div>
  )
}

/** The last messages of a native session. */
export function PeekNative({ id, waitingFor }: { id: string; waitingFor?: string }) {
  const page = useLive(
    'cc.read',
    { id, limit: 8 },
    (event) => event.type === 'native-changed' && event.sessionId === id,
  )
  return (
    <div class="peek">
      {waitingFor !== undefined && (
        <p class="asks">It runs in a terminal and waits there for {visible(waitingFor)}. Answer it there.</p>
      )}
      <Loaded live={page}>
        {({ cards }) => {
          const said = cards.filter((card) => ['prompt', 'text', 'tool'].includes(card.kind)).slice(-4)
          const results = new Map(cards.map((card) => [card.kind === 'result' ? card.toolUseId : '', card]))
          return said.length === 0 ? (
            <p class="faint">Nothing was said yet.</p>
          ) : (
            said.map((card, i) => (
              <CardView key={i} card={card} result={results.get(card.toolUseId ?? 'none')} />
            ))
          )
        }}
      </Loaded>
    </div>
  )
}

/** The complete request: a person must see all of it before approving it. */
export function AnswerApproval({ approval, onAnswered }: { approval: Approval; onAnswered: () => void }) {
  const [text, setText] = useState('')
  const { run, busy, error } = useAction()
  const answer = async (
    decision: 'allow' | 'deny',
    more: Partial<InputOf<'approvals.answer'>> = {},
  ): Promise<void> => {
    const said = text.trim() === '' ? {} : { text: text.trim() }
    const { id, inputHash } = approval
    if (await run('approvals.answer', { id, inputHash, decision, ...said, ...more })) onAnswered()
  }
  const isQuestion = approval.kind === 'question'
  useNumberKeys(approval.choices.length, (number) => void answer('allow', { text: String(number) }))
  return (
    <div class="ask">
      <h3>{heading(approval)}</h3>
      <pre class="asked">{visible(approval.shown)}</pre>
      {approval.choices.length > 0 && (
        <div class="buttons" role="group" aria-label="Choices">
          {approval.choices.map((choice, i) => (
            <button
              key={choice}
              type="button"
              disabled={busy}
              onClick={() => void answer('allow', { text: String(i + 1) })}
            >
              <kbd>{i + 1}</kbd> {visible(choice)}
            </button>
          ))}
        </div>
      )}
      <label>
        {isQuestion ? 'Answer: a number or your own words' : 'Add a message (optional)'}
        <input
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && isQuestion && text.trim() !== '') void answer('allow')
          }}
        />
      </label>
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={busy || (isQuestion && text.trim() === '')}
          onClick={() => void answer('allow')}
        >
          {isQuestion ? 'Answer' : 'Allow once'}
        </button>
        <button type="button" class="danger" disabled={busy} onClick={() => void answer('deny')}>
          Deny
        </button>
        {approval.kind === 'tool' && (
          <button type="button" disabled={busy} onClick={() => void answer('allow', { always: true })}>
            Allow always in this session
          </button>
        )}
        {approval.alike > 1 && (
          <button
            type="button"
            disabled={busy || (isQuestion && text.trim() === '')}
            onClick={() => void answer('allow', { alike: true, inputHash: undefined })}
          >
            {isQuestion ? 'Answer' : 'Allow'} all {approval.alike} that ask the same
          </button>
        )}
      </div>
      {error && <Problem text={error} />}
    </div>
  )
}

/** The keys 1 to 9 choose, unless a person is typing. */
function useNumberKeys(most: number, choose: (number: number) => void): void {
  const latest = useRef(choose)
  latest.current = choose
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const number = /^[1-9]$/.test(event.key) ? Number(event.key) : 0
      if (event.ctrlKey || event.altKey || event.metaKey || isWriting(event.target)) return
      if (number === 0 || number > most) return
      event.preventDefault()
      latest.current(number)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [most])
}

function heading(approval: Approval): string {
  if (approval.kind === 'plan') return 'It has a plan'
  if (approval.kind === 'budget') return 'Its budget is used up'
  return approval.kind === 'question' ? 'It asks' : `It asks to use ${approval.toolName}`
}

interface RespondProps {
  row: CodingRow
  onSent: () => void
  onResumed?: (id: string) => void
}

export function Respond({ row, onSent, onResumed }: RespondProps) {
  const [text, setText] = useState('')
  const { run, busy, error } = useAction()
  const running = row.status === 'running' || row.status === 'starting'
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    const said = text.trim() === '' ? {} : { prompt: text }
    const sent = await (running
      ? run('coding.respond', { session: row.id, message: text })
      : run('coding.resume', { session: row.id, ...said }))
    if (!sent) return
    setText('')
    onSent()
    if (sent.id !== row.id) onResumed?.(sent.id)
  }
  return (
    <form class="respond" onSubmit={(event) => void send(event)}>
      <label class="sr" for={`respond-${row.id}`}>
        Message to {row.name}
      </label>
      <input
        id={`respond-${row.id}`}
        value={text}
        placeholder={running ? 'Send a message' : 'Continue with a message'}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={busy || (running && text.trim() === '')}>
        {running ? 'Send' : 'Resume'}
      </button>
      {error && <Problem text={error} />}
    </form>
  )
}
