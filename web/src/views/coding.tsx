// One coding session: its conversation, its questions, and the controls to answer, interrupt and end it.
import type { CodingRow } from '../data.ts'
import { ago, minutes, shortPath, usd, visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { Conversation } from '../parts/conversation.tsx'
import { ContextGauge } from '../parts/gauge.tsx'
import { OnMachine } from '../parts/on-machine.tsx'
import { Steer, useApprovals } from '../parts/steer.tsx'
import { Empty, Loaded, Loading } from '../parts/states.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { follow, go, pathOf } from '../route.ts'

export function CodingView({ id }: { id: string }) {
  const sessions = useLive(
    'coding.sessions',
    { limit: 1000 },
    (event) => event.type === 'coding-changed' && event.id === id,
  )
  const approvals = useApprovals()
  // Loaded together, so that the page does not move when the question arrives.
  if (approvals.data === undefined && approvals.error === undefined) return <Loading />
  return (
    <Loaded live={sessions}>
      {(data) => {
        const row = data.sessions.find((one) => one.id === id)
        if (!row) return <Missing />
        return (
          <div class="session coding">
            <WhatItSays row={row} />
            <About row={row} approvals={approvals} reload={sessions.reload} />
          </div>
        )
      }}
    </Loaded>
  )
}

function Missing() {
  return (
    <Empty title="There is no such coding session">
      <p>It may have been removed. Ctrl K still finds the conversation in Claude Code.</p>
      <a class="button" href="/" onClick={follow({ view: 'home' })}>
        Home
      </a>
    </Empty>
  )
}

/** The conversation once Claude Code has written a transcript; before that the output that Rockpool recorded. */
function WhatItSays({ row }: { row: CodingRow }) {
  const id = row.claudeSessionId
  return id === undefined ? <Output row={row} /> : <Written id={id} row={row} />
}

function Written({ id, row }: { id: string; row: CodingRow }) {
  const known = useLive(
    'cc.info',
    { id },
    (event) => event.type === 'native-changed' && event.sessionId === id,
    1_000,
  )
  const { run, error } = useAction()
  const fork = async (atMessage: string): Promise<void> => {
    const prompt = 'Continue from here.'
    const options = { session: row.id, prompt, fork: true, atMessage, originChannel: 'web|dashboard' }
    const forked = await run('coding.resume', options)
    if (forked) go({ view: 'coding', id: forked.id })
  }
  if (!known.data) return <Output row={row} />
  return (
    <Conversation
      place={{ view: 'session', id }}
      root={row.workdir}
      problem={error}
      onFork={(uuid) => void fork(uuid)}
    />
  )
}

function Output({ row }: { row: CodingRow }) {
  const output = useLive(
    'coding.output',
    { session: row.id, lines: 2000 },
    (event) => event.type === 'coding-output' && event.id === row.id,
  )
  const lines = output.data?.lines ?? []
  return (
    <section class="conversation" aria-label="Output">
      <VirtualList items={lines} keyOf={(line, i) => `${i} ${line.length}`} label="Output">
        {(line) => <p class="card line">{visible(line)}</p>}
      </VirtualList>
    </section>
  )
}

interface AboutProps {
  row: CodingRow
  approvals: ReturnType<typeof useApprovals>
  reload: () => void
}

function About({ row, approvals, reload }: AboutProps) {
  const project = { view: 'project', path: row.workdir } as const
  return (
    <aside class="about" aria-label="About this session">
      <h1>{visible(row.name)}</h1>
      <p class="faint">{visible(row.prompt)}</p>
      <Steer row={row} approvals={approvals} reload={reload} onResumed={(id) => go({ view: 'coding', id })} />
      <dl>
        <dt>State</dt>
        <dd>
          {row.lifecycle === 'ended' ? row.status : row.lifecycle.replace('-', ' ')}
          {row.endMessage && `: ${visible(row.endMessage)}`}
        </dd>
        {row.doing && (
          <>
            <dt>Now</dt>
            <dd>{visible(row.doing)}</dd>
          </>
        )}
        {row.unsaid.length > 0 && (
          <>
            <dt>Not delivered yet</dt>
            {row.unsaid.map((text) => (
              <dd key={text}>{visible(text)}</dd>
            ))}
          </>
        )}
        <dt>Repository</dt>
        <dd>
          <a href={pathOf(project)} title={visible(row.workdir)} onClick={follow(project)}>
            {visible(shortPath(row.workdir))}
          </a>
        </dd>
        <OnMachine row={row} reload={reload} />
        <dt>Model</dt>
        <dd>{visible(row.model ?? '–')}</dd>
        <dt>Last activity</dt>
        <dd>{ago(row.lastActivityAt)}</dd>
        <dt>Cost</dt>
        <dd>
          {usd(row.costUsd)} of {usd(row.budgetUsd)}
        </dd>
        <dt>Context</dt>
        <dd>
          <ContextGauge used={row.contextTokens} window={row.contextWindow} />
        </dd>
        <dt>Waited</dt>
        <dd>{minutes(row.waitedMs)} for people</dd>
      </dl>
      {row.claudeSessionId && <More id={row.claudeSessionId} />}
    </aside>
  )
}

function More({ id }: { id: string }) {
  const route = { view: 'session', id } as const
  return (
    <a class="button" href={pathOf(route)} onClick={follow(route)}>
      Context, files, cost over time
    </a>
  )
}
