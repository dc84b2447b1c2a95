// The dock under a session: the decision when it asks something, otherwise the composer: send, resume or fork.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CodingRow, Info, NativeSession } from '../data.ts'
import { tokens, usd, visible } from '../format.ts'
import { useKeys } from '../keyboard.ts'
import { useAction } from '../live.ts'
import { useSessions } from '../needs-you.ts'
import { go } from '../route.ts'
import type { Row } from '../rows.ts'
import { ClaudeMissing } from './claude-state.tsx'
import { Decision } from './decision.tsx'
import { withoutCommands } from './notices.tsx'
import { Problem } from './states.tsx'

interface DockProps {
  row: Row | undefined
  coding: CodingRow | undefined
  /** Undefined until it is loaded. */
  info: Info | undefined
  /** The message to fork from. */
  forkAt: string | undefined
  endFork: () => void
}

export function Dock({ row, coding, info, forkAt, endFork }: DockProps) {
  const { reload } = useSessions()
  const session = info?.session
  if (row?.approval) {
    return (
      <div class="dock asks">
        <Decision key={row.id} approval={row.approval} onAnswered={reload} hasKeys />
      </div>
    )
  }
  if (row?.waitingFor !== undefined && forkAt === undefined) {
    return (
      <div class="dock">
        <p class="asks-there">
          It runs in a terminal and waits there for {visible(row.waitingFor)}. Answer it there.
        </p>
      </div>
    )
  }
  if (info?.folderGone && !isRunning(coding)) {
    return (
      <div class="dock">
        <p class="expired">
          Its folder {visible(info.session.repoPath)} no longer exists, so it can be read but not resumed or
          forked.
        </p>
      </div>
    )
  }
  const fork = forkOf(coding, session, forkAt)
  if (fork) {
    return (
      <div class="dock">
        <p class="forking">A fork begins after the chosen message; this session stays as it is.</p>
        <Compose
          key={forkAt}
          label="First message of the fork"
          button="Fork"
          isFocused
          send={fork}
          onSent={endFork}
          onCancel={endFork}
        >
          {info && <NextPrice info={info} isFork />}
        </Compose>
      </div>
    )
  }
  if (coding) return <CodingDock coding={coding} info={info} onSent={reload} />
  return info ? <NativeDock info={info} /> : <div class="dock to-come" />
}

/** What the next message costs at least, so that it is known before it is sent. */
function NextPrice({ info: { price }, isFork }: { info: Info; isFork: boolean }) {
  // Without a context there is nothing to send but the message.
  if (!price || price.tokens === 0) return null
  const { cache, coldBecause, tokens: sent } = price
  return (
    <span class="faint next-price" title={coldBecause && `Cache cold: ${coldBecause}`}>
      {isFork ? 'Fork' : 'Resume'} {usd(isFork ? price.forkUsd : price.resumeUsd)}, cache {cache},{' '}
      {tokens(sent)} tokens
    </span>
  )
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

function isRunning(coding: CodingRow | undefined): boolean {
  return coding?.status === 'running' || coding?.status === 'starting'
}

function forkOf(
  coding: CodingRow | undefined,
  session: NativeSession | undefined,
  atMessage: string | undefined,
): Send | undefined {
  if (atMessage === undefined) return undefined
  if (coding) return { kind: 'fork', coding, atMessage }
  return session && { kind: 'launch', session, isFork: true, atMessage }
}

interface CodingDockProps {
  coding: CodingRow
  info: Info | undefined
  onSent: () => void
}

function CodingDock({ coding, info, onSent }: CodingDockProps) {
  const runs = isRunning(coding)
  const { run, busy, error } = useAction()
  return (
    <div class="dock">
      {coding.expired && (
        <p class="expired">
          {visible(coding.expired.text)}: {visible(coding.expired.about)}
        </p>
      )}
      {coding.state === 'failed' && (
        <p class="expired">Failed: {visible(withoutCommands(coding.stateText))}</p>
      )}
      {coding.state === 'limited' && <p class="expired">{visible(coding.stateText)}</p>}
      {coding.cutOff && <p class="expired">A stop of Rockpool interrupted its turn. Resume continues it.</p>}
      <Unsaid texts={coding.pendingMessages} />
      <Compose
        key={coding.id}
        label={`Message to ${coding.name}`}
        button={runs ? 'Send' : 'Resume'}
        isOptional={!runs}
        send={{ kind: runs ? 'respond' : 'resume', coding }}
        price={runs ? undefined : info?.price}
        onSent={onSent}
      >
        {runs && coding.lifecycle === 'active' && (
          <button
            type="button"
            disabled={busy}
            onClick={() => void run('coding.interrupt', { session: coding.id }).then(onSent)}
          >
            Interrupt
          </button>
        )}
        {!runs && info && <NextPrice info={info} isFork={false} />}
      </Compose>
      {error && <Problem text={error} />}
    </div>
  )
}

function Unsaid({ texts }: { texts: string[] }) {
  if (texts.length === 0) return null
  return (
    <p class="faint unsaid">
      Not delivered yet: {texts.map((text) => visible(text.slice(0, 160))).join(' · ')}
    </p>
  )
}

/** Two processes must not write to one session, so one that runs in a terminal can only be forked. */
function NativeDock({ info }: { info: Info }) {
  const { session, onResume } = info
  const { isRunning, sessionId } = session
  return (
    <div class="dock">
      {isRunning && <p class="faint">It runs in a terminal now, so it can only be forked here.</p>}
      {!isRunning && onResume !== undefined && <p class="faint on-resume">{visible(onResume)}</p>}
      <Compose
        key={sessionId}
        label={`Message to ${isRunning ? 'a fork of it' : 'this session'}`}
        button={isRunning ? 'Fork' : 'Resume'}
        isOptional={!isRunning}
        send={{ kind: 'launch', session, isFork: isRunning }}
        price={info.price}
      >
        <NextPrice info={info} isFork={isRunning} />
      </Compose>
    </div>
  )
}

type Send =
  | { kind: 'respond'; coding: CodingRow }
  | { kind: 'resume'; coding: CodingRow }
  | { kind: 'fork'; coding: CodingRow; atMessage: string }
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

function Compose(props: ComposeProps) {
  const { label, button, send, isFocused, isOptional, price, onSent, onCancel, children } = props
  const [text, setText] = useState('')
  const [isTrimmed, setTrimmed] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const { act, busy, error } = useSending(send, isTrimmed ? price?.trimmed?.level : undefined)
  useKeys({ r: () => field.current?.focus() })
  useEffect(() => {
    if (isFocused) field.current?.focus()
  }, [])
  const canSend = !busy && (isOptional === true || text.trim() !== '')
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
        placeholder={`${label}. Enter sends, Shift+Enter for a new line`}
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
        <ClaudeMissing isShort />
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
    if (!sent) return false
    if (send.kind === 'launch' || sent.id !== send.coding.id) go({ view: 'coding', id: sent.id })
    return true
  }
  return { act, busy, error }
}
