// One Claude Code session: the conversation, live, and what one wants to know before resuming it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Card, Health, NativeSession } from '../data.ts'
import { ago, shortPath, tokens, usd, visible } from '../format.ts'
import { messageOf, useAction, useGateway, useLive } from '../live.ts'
import { AnatomyOf } from '../parts/anatomy.tsx'
import { CardView } from '../parts/cards.tsx'
import { Loaded, Problem } from '../parts/states.tsx'
import { Tidy } from '../parts/tidy.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { go, pathOf } from '../route.ts'

interface Page {
  cards: Card[]
  before?: number
}

export function SessionView({ id }: { id: string }) {
  const info = useLive<{ session: NativeSession; health?: Health }>(
    'cc.info',
    { id },
    (event) => event.type === 'native-changed' && event.sessionId === id,
    1_000,
  )
  return (
    <Loaded live={info}>
      {({ session, health }) => (
        <div class="session">
          <Conversation session={session} />
          <About session={session} health={health} />
        </div>
      )}
    </Loaded>
  )
}

function Conversation({ session }: { session: NativeSession }) {
  const { cards, more, error } = useCards(session.sessionId)
  const results = useMemo(
    () => new Map(cards.filter((card) => card.kind === 'result').map((card) => [card.toolUseId, card])),
    [cards],
  )
  const shown = useMemo(() => cards.filter((card) => card.kind !== 'result'), [cards])
  const { run, error: forkError } = useAction()
  const fork = async (atMessage: string): Promise<void> => {
    const forked = (await run('coding.launch', {
      prompt: 'Continue from here.',
      workdir: session.repoPath,
      resumeSessionId: session.sessionId,
      forkSession: true,
      atMessage,
    })) as { id: string } | undefined
    if (forked) go({ view: 'coding', id: forked.id })
  }
  return (
    <section class="conversation" aria-label="Conversation">
      {(error ?? forkError) && <Problem text={error ?? forkError ?? ''} />}
      <VirtualList items={shown} keyOf={keyOf} onStart={more} label="What was said">
        {(card) => (
          <CardView card={card} result={results.get(card.toolUseId)} onFork={(uuid) => void fork(uuid)} />
        )}
      </VirtualList>
    </section>
  )
}

function keyOf(card: Card, index: number): string {
  return `${card.uuid ?? index}${card.kind}${card.toolUseId ?? ''}${card.text.length}`
}

/** The last cards at once, older ones as the reader goes up, new ones as they are written. */
function useCards(id: string): { cards: Card[]; more: () => void; error: string | undefined } {
  const gateway = useGateway()
  const [older, setOlder] = useState<Card[]>([])
  const [newest, setNewest] = useState<Card[]>([])
  const [error, setError] = useState<string>()
  const before = useRef<number>(undefined)
  const loading = useRef(false)
  const latest = useRef<Card[]>([])
  useEffect(() => {
    const read = async (limit: number): Promise<void> => {
      const page = await gateway.call<Page>('cc.read', { id, limit })
      const known = joined(latest.current, page.cards)
      if (!known && latest.current.length > 0 && limit < most) return read(most)
      if (!known) {
        // The first look, or so much is new that the two do not meet: begin from the end.
        setOlder([])
        before.current = page.before
      }
      latest.current = known ?? page.cards
      setNewest(latest.current)
      setError(undefined)
    }
    const again = (): void => {
      read(latest.current.length === 0 ? 200 : 60).catch((problem: unknown) => setError(messageOf(problem)))
    }
    const stops = [
      gateway.listen(
        'sessions',
        {},
        {
          event: (event) => event.type === 'native-changed' && event.sessionId === id && again(),
          gap: again,
        },
      ),
      gateway.onConnected(again),
    ]
    again()
    return () => {
      for (const stop of stops) stop()
    }
  }, [id])
  const more = (): void => {
    if (loading.current || before.current === undefined) return
    loading.current = true
    gateway
      .call<Page>('cc.read', { id, limit: 300, before: before.current })
      .then((page) => {
        before.current = page.before
        setOlder((known) => [...page.cards, ...known])
      })
      .catch((problem: unknown) => setError(messageOf(problem)))
      .finally(() => (loading.current = false))
  }
  const cards = useMemo(() => [...older, ...newest], [older, newest])
  return { cards, more, error }
}

/** The largest page that the gateway gives. */
const most = 1000

/** What is known and what came after its last card; undefined when nothing is known or the two do not meet. */
function joined(known: Card[], page: Card[]): Card[] | undefined {
  const last = known.at(-1)
  const place = page.findLastIndex((card) => card.uuid === last?.uuid && card.kind === last?.kind)
  return last === undefined || place === -1 ? undefined : [...known, ...page.slice(place + 1)]
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
              <li key={finding}>{finding}</li>
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
      <h1>{visible(session.title ?? session.label ?? session.firstMessage)}</h1>
      <dl>
        <dt>State</dt>
        <dd>
          {session.status}
          {session.waitingFor && `: ${session.waitingFor}`}
        </dd>
        <dt>Repository</dt>
        <dd>
          <a href={pathOf({ view: 'project', path: session.repoPath })}>{shortPath(session.repoPath)}</a>
          {session.branch && ` · ${session.branch}`}
        </dd>
        <dt>Last used</dt>
        <dd>
          {ago(Date.parse(session.lastModified))}, cache {session.warm ? 'warm' : 'cold'}
        </dd>
        <dt>Model</dt>
        <dd>{session.model ?? '–'}</dd>
        <dt>Messages</dt>
        <dd>
          {session.messageCount}, {session.promptCount} prompts, {session.compactionCount} compactions
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
      <AnatomyOf session={session} />
      <ResumeHere session={session} />
      <p>
        <code>{command}</code>{' '}
        <button type="button" onClick={() => void copy()}>
          {copied ? 'Copied' : 'Copy'}
        </button>
      </p>
      <Tidy session={session} />
    </aside>
  )
}

function ResumeHere({ session }: { session: NativeSession }) {
  const [text, setText] = useState('')
  const { run, busy, error } = useAction()
  const launch = async (forkSession: boolean): Promise<void> => {
    const started = (await run('coding.launch', {
      prompt: text.trim() || 'Continue where you left off.',
      workdir: session.repoPath,
      resumeSessionId: session.sessionId,
      forkSession,
    })) as { id: string } | undefined
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
        <p class="faint">It runs now. A second writer would tear it apart, so it can only be forked.</p>
      )}
      {error && <Problem text={error} />}
    </form>
  )
}
