// The dock under a session: the decision when it asks something, otherwise the composer: send, resume or fork.
import { useState } from 'preact/hooks'
import type { CodingRow, Info, NativeSession } from '../data.ts'
import { tokens, usd, visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { useSessions } from '../needs-you.ts'
import type { Row } from '../rows.ts'
import { Compose, type Send } from './compose.tsx'
import { Decision, useSeen } from './decision.tsx'
import { MailLines, changesMail } from './mail-lines.tsx'
import { withoutCommands } from './notices.tsx'
import { Problem, Words } from './states.tsx'

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
  const isSeen = useSeen(row?.id, row?.approval?.id)
  const session = info?.session
  if (row?.approval) {
    return (
      <div class="dock asks">
        <Decision key={row.id} approval={row.approval} onAnswered={reload} isSeen={isSeen} hasKeys />
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
  if (coding)
    return <CodingDock name={row?.name ?? coding.name} coding={coding} info={info} onSent={reload} />
  return info ? <NativeDock info={info} /> : <div class="dock to-come" />
}

/** The least that the next message costs, shown before the person sends it. */
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
  name: string
  coding: CodingRow
  info: Info | undefined
  onSent: () => void
}

function CodingDock({ name, coding, info, onSent }: CodingDockProps) {
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
        <p class="expired">
          Failed: <Words text={withoutCommands(coding.stateText)} />
        </p>
      )}
      {coding.state === 'limited' && (
        <p class="expired">
          <Words text={coding.stateText} />
        </p>
      )}
      {coding.cutOff && <p class="expired">A stop of Rockpool interrupted its turn. Resume continues it.</p>}
      <Unsaid texts={coding.pendingMessages} />
      <Compose
        key={coding.id}
        label={`Message to ${name}`}
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

function NativeDock({ info }: { info: Info }) {
  const { session, onResume } = info
  if (session.isRunning) return <TerminalDock info={info} />
  return (
    <div class="dock">
      {onResume !== undefined && <p class="faint on-resume">{visible(onResume)}</p>}
      <Compose
        key={session.sessionId}
        label="Message to this session"
        button="Resume"
        isOptional
        send={{ kind: 'launch', session, isFork: false }}
        price={info.price}
      >
        <NextPrice info={info} isFork={false} />
      </Compose>
    </div>
  )
}

const shownMail = 3

/** Two processes must not write to one session, so one that runs in a terminal gets mail, or is forked. */
function TerminalDock({ info }: { info: Info }) {
  const { session } = info
  const { sessionId } = session
  const [isFork, setFork] = useState(false)
  const mail = useLive('mail.list', { session: sessionId, limit: shownMail }, changesMail)
  if (isFork)
    return (
      <div class="dock">
        <p class="faint">It runs in a terminal now. A fork continues here from its last message.</p>
        <Compose
          label="Message to a fork of it"
          button="Fork"
          isFocused
          send={{ kind: 'launch', session, isFork }}
          price={info.price}
          onCancel={() => setFork(false)}
        >
          <NextPrice info={info} isFork />
        </Compose>
      </div>
    )
  return (
    <div class="dock">
      {mail.data && mail.data.mail.length > 0 && (
        <MailLines mail={mail.data.mail.toReversed()} label="Mail" />
      )}
      <Compose
        key={sessionId}
        label="Mail to this session, which runs in a terminal"
        button="Send"
        send={{ kind: 'mail', sessionId }}
        onSent={mail.reload}
      >
        <button type="button" onClick={() => setFork(true)}>
          Fork…
        </button>
      </Compose>
    </div>
  )
}
