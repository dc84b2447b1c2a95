// A sub-agent of a Claude Code session: its live conversation, and a link to the session that called it.
import type { NativeSession, Subagent } from '../data.ts'
import { clock, nameOf, tokens, usd, visible } from '../format.ts'
import { useKeys } from '../keyboard.ts'
import { useLive, wrote } from '../live.ts'
import { Conversation } from '../parts/conversation.tsx'
import { Link } from '../parts/link.tsx'
import { Loaded } from '../parts/states.tsx'
import { go } from '../route.ts'
import type { Look, SessionRoute } from '../route.ts'

export function SubagentView({ route, look }: { route: SessionRoute; look: Look }) {
  const { id, subagent } = route
  const session = useLive('cc.info', { id, health: false, lines: false }, wrote(id), 1_000)
  const about = useLive('cc.read', { id, subagent, limit: 1 }, wrote(id), 1_000)
  useKeys({ Escape: () => go({ view: 'session', id }, look) })
  return (
    <Loaded live={about}>
      {(data) => (
        <article class="session-pane" aria-label="Sub-agent">
          {data.subagent && <Head of={data.subagent} id={id} session={session.data?.session} />}
          <Conversation
            place={{ ...route, id: data.sessionId }}
            look={look}
            subagentName={data.subagent?.name}
            root={session.data?.session.repoPath}
          />
        </article>
      )}
    </Loaded>
  )
}

interface HeadProps {
  of: Subagent
  id: string
  session: NativeSession | undefined
}

function Head({ of, id, session }: HeadProps) {
  return (
    <header class="session-head" aria-label="About this sub-agent">
      <p class="parent">
        <Link to={{ view: 'session', id }}>← {visible(session ? nameOf(session) : 'Its session')}</Link>
      </p>
      <div class="title">
        <h1>{visible(of.about.slice(0, 200) || of.name)}</h1>
      </div>
      <p class="facts">
        <span class="chip">{of.isRunning ? 'working' : 'ended'}</span>
        <span>{visible(of.name)}</span>
        <span>
          {clock(of.startedAt)} – {clock(of.lastAt)}
        </span>
        <span>{visible(of.model ?? '–')}</span>
        <span>{usd(of.costUsd)}</span>
        <span>
          {tokens(of.inputTokens)} in, {tokens(of.outputTokens)} out, {tokens(of.cacheReadTokens)} from cache
        </span>
      </p>
    </header>
  )
}
