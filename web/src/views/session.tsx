// One Claude Code session: the live conversation, and what a person needs to know before resuming it.
import { useState } from 'preact/hooks'
import type { Health, NativeSession } from '../data.ts'
import { ago, count, nameOf, shortPath, tokens, usd, visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { AnatomyOf } from '../parts/anatomy.tsx'
import { Conversation } from '../parts/conversation.tsx'
import { Steer, useApprovals } from '../parts/steer.tsx'
import { Loading, Problem } from '../parts/states.tsx'
import { Tidy } from '../parts/tidy.tsx'
import { follow, go, pathOf } from '../route.ts'

export function SessionView({ id, at }: { id: string; at?: string }) {
  const info = useLive(
    'cc.info',
    { id },
    (event) => event.type === 'native-changed' && event.sessionId === id,
    1_000,
  )
  const { run, error } = useAction()
  const fork = async ({ sessionId, repoPath }: NativeSession, atMessage: string): Promise<void> => {
    const forked = await run('coding.launch', {
      prompt: 'Continue from here.',
      workdir: repoPath,
      resumeSessionId: sessionId,
      forkSession: true,
      atMessage,
      originChannel: 'web|dashboard',
    })
    if (forked) go({ view: 'coding', id: forked.id })
  }
  const { data } = info
  if (data === undefined && info.error !== undefined) return <Problem text={info.error} retry={info.reload} />
  // The conversation is shown at once; the facts about the session take longer to load.
  return (
    <div class="session">
      <Conversation
        place={{ view: 'session', id: data?.session.sessionId ?? id, at }}
        root={data?.session.repoPath}
        problem={error}
        onFork={data && ((uuid) => void fork(data.session, uuid))}
      />
      {data ? <About session={data.session} health={data.health} /> : <AboutToCome />}
    </div>
  )
}

function AboutToCome() {
  return (
    <aside class="about" aria-label="About this session">
      <h1 class="to-come" aria-hidden="true" />
      <Loading />
    </aside>
  )
}

function HealthOf({ health }: { health: Health }) {
  return (
    <>
      <dt>Health</dt>
      <dd>
        {health.verdict}, {Math.round(health.reachableShare * 100)}% reachable
        {health.findings.length > 0 && (
          <ul>
            {health.findings.map((finding) => (
              <li key={finding}>{visible(finding)}</li>
            ))}
          </ul>
        )}
      </dd>
    </>
  )
}

function About({ session, health }: { session: NativeSession; health: Health | undefined }) {
  const [copied, setCopied] = useState(false)
  const command = `claude --resume ${session.sessionId}`
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(command)
    setCopied(true)
  }
  return (
    <aside class="about" aria-label="About this session">
      <h1>{visible(nameOf(session))}</h1>
      <dl>
        <dt>State</dt>
        <dd>
          {session.status}
          {session.waitingFor && `: ${session.waitingFor}`}
        </dd>
        <dt>Repository</dt>
        <dd>
          <a
            href={pathOf({ view: 'project', path: session.repoPath })}
            title={visible(session.repoPath)}
            onClick={follow({ view: 'project', path: session.repoPath })}
          >
            {visible(shortPath(session.repoPath))}
          </a>
          {session.branch && ` · ${visible(session.branch)}`}
        </dd>
        <dt>Last used</dt>
        <dd>
          {ago(Date.parse(session.lastModified))}, cache {session.warm ? 'warm' : 'cold'}
        </dd>
        <dt>Model</dt>
        <dd>{visible(session.model ?? '–')}</dd>
        <dt>Messages</dt>
        <dd>
          {session.messageCount}, {count(session.promptCount, 'prompt')},{' '}
          {count(session.compactionCount, 'compaction')}
        </dd>
        <dt>Cost</dt>
        <dd>{usd(session.costUsd)}</dd>
        <dt>Tokens</dt>
        <dd>
          {tokens(session.totalInputTokens)} in, {tokens(session.totalOutputTokens)} out,{' '}
          {tokens(session.cacheReadTokens)} from cache
        </dd>
        {health && <HealthOf health={health} />}
      </dl>
      <GoOn session={session} />
      <AnatomyOf session={session} />
      <h2>In a terminal</h2>
      <p class="copy">
        <code>{command}</code>
        <button type="button" onClick={() => void copy()}>
          {copied ? 'Copied' : 'Copy'}
        </button>
      </p>
      <Tidy session={session} />
    </aside>
  )
}

/** A coding session can be controlled; any other session can be resumed or forked. */
function GoOn({ session }: { session: NativeSession }) {
  const coding = useLive('coding.sessions', { limit: 200 }, (event) =>
    ['coding-changed', 'approval-changed'].includes(event.type),
  )
  const ours = coding.data?.sessions.find(
    (row) =>
      row.claudeSessionId === session.sessionId && (row.status === 'running' || row.status === 'starting'),
  )
  const approvals = useApprovals()
  if (!ours) return <ResumeHere session={session} />
  return <Steer row={ours} approvals={approvals} reload={coding.reload} />
}

function ResumeHere({ session }: { session: NativeSession }) {
  const [text, setText] = useState('')
  const { run, busy, error } = useAction()
  const launch = async (forkSession: boolean): Promise<void> => {
    const started = await run('coding.launch', {
      prompt: text.trim() || 'Continue where you left off.',
      workdir: session.repoPath,
      resumeSessionId: session.sessionId,
      forkSession,
      originChannel: 'web|dashboard',
    })
    if (started) go({ view: 'coding', id: started.id })
  }
  return (
    <form class="resume" onSubmit={(event) => event.preventDefault()}>
      <label for="resume-text">What next?</label>
      <textarea
        id="resume-text"
        rows={3}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={busy || session.isRunning}
          onClick={() => void launch(false)}
        >
          Resume in the background
        </button>
        <button type="button" disabled={busy} onClick={() => void launch(true)}>
          Fork
        </button>
      </div>
      {session.isRunning && (
        <p class="faint">
          It runs now. Two processes must not write to one session, so it can only be forked.
        </p>
      )}
      {error && <Problem text={error} />}
    </form>
  )
}
