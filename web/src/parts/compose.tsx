// The composer under a session: a text, its price, and the button that sends, resumes or forks.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CodingRow, Info, NativeSession } from '../data.ts'
import { usd } from '../format.ts'
import { useKeys } from '../keyboard.ts'
import { useAction } from '../live.ts'
import { go } from '../route.ts'
import { useCanWork } from './claude-state.tsx'
import { Problem } from './states.tsx'

/** The purpose of the text. */
export type Send =
  | { kind: 'respond'; coding: CodingRow }
  | { kind: 'resume'; coding: CodingRow }
  | { kind: 'fork'; coding: CodingRow; atMessage: string }
  | { kind: 'mail'; sessionId: string }
  /** A session of Claude Code continues as a coding session. */
  | { kind: 'launch'; session: NativeSession; isFork: boolean; atMessage?: string }

interface ComposeProps {
  label: string
  button: string
  send: Send
  isFocused?: boolean
  /** It can be sent without a text. */
  isOptional?: boolean
  /** Of the whole session; a trimmed copy may be offered. */
  price?: Info['price']
  onSent?: () => void
  onCancel?: () => void
  children?: ComponentChildren
}

export function Compose(props: ComposeProps) {
  const { label, button, send, isFocused, isOptional, price, onSent, onCancel, children } = props
  const [text, setText] = useState('')
  const [isTrimmed, setTrimmed] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const { act, busy, error } = useSending(send, isTrimmed ? price?.trimmed?.level : undefined)
  useKeys({ r: () => field.current?.focus() })
  useEffect(() => {
    if (isFocused) field.current?.focus()
  }, [])
  const canWork = useCanWork(workerOf(send))
  const canSend = canWork && !busy && (isOptional === true || text.trim() !== '')
  const submit = async (): Promise<void> => {
    if (!canSend || !(await act(text.trim()))) return
    setText('')
    onSent?.()
  }
  return (
    <form
      class="compose"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <textarea
        ref={field}
        rows={2}
        aria-label={label}
        placeholder={
          isOptional
            ? `${label}. Empty: continue where it left off`
            : `${label}. Enter sends, Shift+Enter for a new line`
        }
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur()
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing || text.trim() === '') return
          event.preventDefault()
          void submit()
        }}
      />
      <div class="buttons">
        {children}
        {price && <TrimChoice price={price} isChosen={isTrimmed} choose={setTrimmed} />}
        {!canWork && <span class="claude-missing">Claude is not connected</span>}
        <span class="grow" />
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" class="primary" disabled={!canSend}>
          {button}
        </button>
      </div>
      {error && <Problem text={error} />}
    </form>
  )
}

/** The program that takes the turn. Mail starts none. */
function workerOf(send: Send): string {
  if (send.kind === 'mail') return 'none'
  return send.kind === 'launch' ? send.session.agentKind : send.coding.agentKind
}

/** True if it was sent. A conversation that continues under another id is opened. */
function useSending(
  send: Send,
  trim: NonNullable<NonNullable<Info['price']>['trimmed']>['level'] | undefined,
): {
  act: (text: string) => Promise<boolean>
  busy: boolean
  error: string | undefined
} {
  const { run, busy, error } = useAction()
  const start = (text: string) => {
    const originChannel = 'web|dashboard'
    const prompt = text || 'Continue where you left off.'
    if (send.kind === 'mail') return run('mail.send', { to: send.sessionId, text })
    if (send.kind === 'launch') {
      const { sessionId: resumeSessionId, repoPath: workdir } = send.session
      const { isFork: forkSession, atMessage } = send
      const how = { resumeSessionId, forkSession, atMessage, trim }
      return run('coding.launch', { prompt, workdir, ...how, originChannel })
    }
    const session = send.coding.id
    if (send.kind === 'respond') return run('coding.respond', { session, message: text })
    if (send.kind === 'resume') return run('coding.resume', { session, prompt: text || undefined, trim })
    const { atMessage } = send
    return run('coding.resume', { session, prompt, fork: true, atMessage, originChannel })
  }
  const act = async (text: string): Promise<boolean> => {
    const sent = await start(text)
    if (!sent || send.kind === 'mail') return sent !== undefined
    if (send.kind === 'launch' || sent.id !== send.coding.id) go({ view: 'coding', id: sent.id })
    return true
  }
  return { act, busy, error }
}

interface TrimChoiceProps {
  price: NonNullable<Info['price']>
  isChosen: boolean
  choose: (isChosen: boolean) => void
}

/** Offered when the cache is cold and a copy without old tool results costs much less. */
function TrimChoice({ price: { trimmed, resumeUsd }, isChosen, choose }: TrimChoiceProps) {
  if (!trimmed?.offered) return null
  return (
    <label
      class="trim-choice"
      title={`A copy in which notes replace ${trimmed.cuts} old tool results. It can get each of them back.`}
    >
      <input type="checkbox" checked={isChosen} onChange={(event) => choose(event.currentTarget.checked)} />{' '}
      Trimmed copy {usd(trimmed.usd)} instead of {usd(resumeUsd)}
    </label>
  )
}
