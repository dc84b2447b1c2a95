// A sub-agent of a Claude Code session: its live conversation, and a link to the session that called it.
import { useEffect } from 'preact/hooks'
import type { NativeSession, Subagent } from '../data.ts'
import { clock, nameOf, shortPath, tokens, usd, visible } from '../format.ts'
import { isWriting } from '../keyboard.ts'
import { useLive, wrote } from '../live.ts'
import { Conversation } from '../parts/conversation.tsx'
import { Link } from '../parts/link.tsx'
import { Loaded } from '../parts/states.tsx'
import { go } from '../route.ts'
import type { SessionRoute } from '../route.ts'

export function SubagentView({ route }: { route: SessionRoute }) {
  const { id, subagent } = route
  const session = useLive('cc.info', { id }, wrote(id), 1_000)
  const about = useLive('cc.read', { id, subagent, limit: 1 }, wrote(id), 1_000)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || isWriting(event.target) || document.querySelector('dialog[open]')) return
      go({ view: 'session', id })
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [id])
  return (
    <Loaded live={about}>
      {(data) => (
        <div class="session">
          <Conversation
            place={{ ...route, id: data.sessionId }}
            subagentName={data.subagent?.name}
            root={session.data?.session.repoPath}
          />
          {data.subagent && <About of={data.subagent} id={id} session={session.data?.session} />}
        </div>
      )}
    </Loaded>
  )
}

interface AboutProps {
  of: Subagent
  id: string
  session: NativeSession | undefined
}

function About({ of, id, session }: AboutProps) {
  return (
    <aside class="about" aria-label="About this sub-agent">
      <p class="back">
        <Link to={{ view: 'session', id }}>← {visible(session ? nameOf(session) : 'Its session')}</Link>
      </p>
      <h1>{visible(of.about.slice(0, 200) || of.name)}</h1>
      <dl>
        <dt>Sub-agent</dt>
        <dd>{visible(of.name)}</dd>
        <dt>State</dt>
        <dd>{of.isRunning ? 'works' : 'has ended'}</dd>
        {session && (
          <>
            <dt>Repository</dt>
            <dd>
              <Link to={{ view: 'project', path: session.repoPath }}>
                {visible(shortPath(session.repoPath))}
              </Link>
            </dd>
          </>
        )}
        <dt>Began</dt>
        <dd>{clock(of.startedAt)}</dd>
        <dt>Last message</dt>
        <dd>{clock(of.lastAt)}</dd>
        <dt>Model</dt>
        <dd>{visible(of.model ?? '–')}</dd>
        <dt>Cost</dt>
        <dd>{usd(of.costUsd)}</dd>
        <dt>Tokens</dt>
        <dd>
          {tokens(of.inputTokens)} in, {tokens(of.outputTokens)} out, {tokens(of.cacheReadTokens)} from cache
        </dd>
      </dl>
    </aside>
  )
}
