// What fills the context of a session, its cost over time, the price to continue it, and the files that it touched.
import type { Anatomy, CodingRow, NativeSession } from '../data.ts'
import { minutes, tokens, usd, visible } from '../format.ts'
import { useLazy, useLive, wrote } from '../live.ts'
import type { Live } from '../live.ts'
import { resumedConversation } from '../rows.ts'
import { Link } from './link.tsx'
import { LivingLines } from './living-lines.tsx'
import { Loaded } from './states.tsx'

function useAnatomy(id: string): Live<Anatomy> {
  return useLive('cc.anatomy', { id }, wrote(id), 3_000)
}

export function CostTab({ session, coding }: { session: NativeSession; coding: CodingRow | undefined }) {
  const anatomy = useAnatomy(session.sessionId)
  const resumed = coding && resumedConversation(coding, session)
  return (
    <>
      <dl>
        <dt>Cost</dt>
        <dd>
          {resumed && `${usd(resumed.costUsd)}, of which `}
          {usd(coding?.costUsd ?? session.costUsd)}
          {coding && ` of ${usd(coding.budgetUsd)}`}
          {resumed && ' since the resume'}
        </dd>
        <dt>Tokens</dt>
        <dd>
          {tokens(session.totalInputTokens)} in, {tokens(session.totalOutputTokens)} out,{' '}
          {tokens(session.cacheReadTokens)} from cache, {tokens(session.cacheCreationTokens)} into it
        </dd>
      </dl>
      <Loaded live={anatomy}>
        {(data) => (
          <>
            <h2>Context</h2>
            <ContextBar {...data} />
            <Price {...data} />
            {data.calls.length > 1 && <Usage calls={data.calls} />}
          </>
        )}
      </Loaded>
    </>
  )
}

/** The bar is a little wider than the context window, so that the end of the window, where Claude Code compacts, is visible. */
const shownOfWindow = 1.04

/** What fills the context, by kind, in proportion to the model's window, with the point at which Claude Code compacts it. */
function ContextBar({ context, contextTokens, contextWindow }: Anatomy) {
  const window = Math.max(contextWindow, contextTokens, 1)
  const share = (count: number): string => `${(count / (window * shownOfWindow)) * 100}%`
  const words = context.map((part) => `${part.kind} ${tokens(part.tokens)}`).join(', ')
  return (
    <figure class="context">
      <div class="context-bar" role="img" aria-label={`Context: ${words}, of ${tokens(window)} tokens`}>
        {context.map((part) => (
          <span key={part.kind} class={part.kind} style={{ width: share(part.tokens) }} />
        ))}
        <i style={{ left: share(window) }} title="Compacted when it is full" />
      </div>
      <figcaption>
        {context.map((part) => (
          <span key={part.kind}>
            <b class={part.kind} /> {part.kind} {tokens(part.tokens)}
          </span>
        ))}
        <span class="faint">compacted when it reaches {tokens(window)}</span>
      </figcaption>
    </figure>
  )
}

export function FilesTab({ session }: { session: NativeSession }) {
  const anatomy = useAnatomy(session.sessionId)
  return (
    <Loaded live={anatomy}>
      {({ files, subagents }) => (
        <>
          {files.length + subagents.length === 0 && <p class="faint">It has touched no file yet.</p>}
          <Touched files={files} root={session.repoPath} />
          <Subagents of={subagents} id={session.sessionId} />
          <LivingLines id={session.sessionId} />
        </>
      )}
    </Loaded>
  )
}

function Price({ price }: Anatomy) {
  const why = price.coldBecause === undefined ? '' : ` (${price.coldBecause})`
  const sure = price.sure === undefined ? '' : `, ${Math.round(price.sure * 100)} % sure`
  const warmth = price.warmForMs === undefined ? `cold${why}` : `warm for ${minutes(price.warmForMs)}`
  return (
    <dl class="price" aria-label="Price to continue">
      <dt>Resume</dt>
      <dd>
        {usd(price.resumeUsd)} <span class="faint">{warmth}</span>
        <span class="faint">{sure}; keeps everything</span>
      </dd>
      {price.trimmed && (
        <>
          <dt>Trimmed copy</dt>
          <dd>
            {usd(price.trimmed.usd)} <span class="faint">without {price.trimmed.cuts} old results</span>
          </dd>
        </>
      )}
      <dt>Compact first</dt>
      <dd>
        {usd(price.compactThenResumeUsd)} <span class="faint">keeps a summary</span>
      </dd>
      <dt>Start fresh</dt>
      <dd>
        {usd(price.freshUsd)} <span class="faint">keeps a brief</span>
      </dd>
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
    <section aria-label="Files">
      <h2>
        Files <span class="faint">{files.length}</span>
      </h2>
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
    </section>
  )
}

/** A sub-agent with a transcript can be opened. */
function Subagents({ of, id }: { of: Anatomy['subagents']; id: string }) {
  if (of.length === 0) return null
  return (
    <section aria-label="Sub-agents">
      <h2>
        Sub-agents <span class="faint">{of.length}</span>
      </h2>
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
    </section>
  )
}
