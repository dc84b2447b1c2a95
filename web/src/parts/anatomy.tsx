// What fills the context of a session, its cost over time, and the price to continue it.
import type { Anatomy, NativeSession } from '../data.ts'
import { minutes, usd, visible } from '../format.ts'
import { useLazy, useLive, wrote } from '../live.ts'
import { ContextBar } from './context-bar.tsx'
import { Link } from './link.tsx'
import { Loaded } from './states.tsx'

export function AnatomyOf({ session }: { session: NativeSession }) {
  const anatomy = useLive('cc.anatomy', { id: session.sessionId }, wrote(session.sessionId), 3_000)
  return (
    <Loaded live={anatomy}>
      {(data) => (
        <>
          <h2>Context</h2>
          <ContextBar {...data} />
          <Price {...data} />
          {data.calls.length > 1 && <Usage calls={data.calls} />}
          <Touched files={data.files} root={session.repoPath} />
          <Subagents of={data.subagents} id={session.sessionId} />
        </>
      )}
    </Loaded>
  )
}

function Price({ price }: Anatomy) {
  const why = price.coldBecause === undefined ? '' : ` (${price.coldBecause})`
  const warmth = price.warmForMs === undefined ? `cold${why}` : `warm for ${minutes(price.warmForMs)}`
  return (
    <dl class="price" aria-label="Price to continue">
      <dt>Resume</dt>
      <dd>
        {usd(price.resumeUsd)} <span class="faint">{warmth}</span>
      </dd>
      <dt>Compact first</dt>
      <dd>{usd(price.compactThenResumeUsd)}</dd>
      <dt>Start fresh</dt>
      <dd>{usd(price.freshUsd)}</dd>
    </dl>
  )
}

function Usage({ calls }: { calls: Anatomy['calls'] }) {
  const Chart = useLazy(() => import('./usage-chart.tsx'))
  return (
    <>
      <h2>Over time</h2>
      <div class="chart-space">{Chart && <Chart calls={calls} />}</div>
      <p class="faint legend">
        <b class="cost" /> cost <b class="tokens" /> context
      </p>
    </>
  )
}

function Touched({ files, root }: { files: Anatomy['files']; root: string }) {
  if (files.length === 0) return null
  const short = (path: string): string => (path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path)
  return (
    <details open={files.length < 6}>
      <summary>Files ({files.length})</summary>
      <ul class="names">
        {files.map((file) => (
          <li key={file.path} title={visible(file.path)}>
            <code>{visible(short(file.path))}</code>{' '}
            <span class="faint">
              {file.writes > 0 && `${file.writes} changed `}
              {file.reads > 0 && `${file.reads} read`}
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}

/** A sub-agent with a transcript can be opened. */
function Subagents({ of, id }: { of: Anatomy['subagents']; id: string }) {
  if (of.length === 0) return null
  return (
    <details open={of.length < 4}>
      <summary>Sub-agents ({of.length})</summary>
      <ul class="names">
        {of.map((agent, i) => (
          <li key={agent.id ?? i}>
            <strong>{visible(agent.name)}</strong>{' '}
            {agent.id === undefined ? (
              visible(agent.about)
            ) : (
              <Link to={{ view: 'session', id, subagent: agent.id }}>{visible(agent.about || 'Open')}</Link>
            )}{' '}
            <span class="faint">
              {agent.isRunning && 'works '}
              {agent.costUsd !== undefined && usd(agent.costUsd)}
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}
