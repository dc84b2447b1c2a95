// Which session would take a task: the decision, and every candidate with its scores, reasons and prices.
import { useState } from 'preact/hooks'
import type { InputOf } from '../../../src/rpc/client.ts'
import type { NativeSession, SessionScore, SessionSelection } from '../data.ts'
import { nameOf, tokens, usd, visible } from '../format.ts'
import { follow, pathOf } from '../route.ts'
import { Empty } from './states.tsx'

export type LaunchOptions = Partial<InputOf<'coding.launch'>>
export type Launch = (options: LaunchOptions) => Promise<void>

const actions: Record<SessionSelection['action'], string> = {
  resume: 'Resume an earlier session',
  fork: 'Fork an earlier session',
  fresh: 'Start a new session',
  queue: 'Wait for the session that works there',
}

interface DecisionProps {
  selection: SessionSelection
  launch: Launch
  busy: boolean
  sessions: NativeSession[]
}

/** The other candidates are rarely chosen; they are shown so that the decision can be checked. */
const shownCandidates = 5

export function Decision({ selection, launch, busy, sessions }: DecisionProps) {
  const [all, setAll] = useState(false)
  const shown = all ? selection.scores : selection.scores.slice(0, shownCandidates)
  // The decision already has the reason of the chosen one.
  const isShown = selection.action === 'resume' && shown.some((one) => one.sessionId === selection.sessionId)
  const names = new Map(sessions.map((one) => [one.sessionId, nameOf(one)]))
  return (
    <section aria-label="Selection">
      <h2>{actions[selection.action]}</h2>
      {!isShown && <p>{visible(selection.reason)}</p>}
      {selection.fallback && <p class="faint">{visible(selection.fallback)}</p>}
      {selection.action !== 'fresh' && (
        <div class="buttons">
          <button type="button" disabled={busy} onClick={() => void launch({ fresh: true })}>
            Begin a new session instead
          </button>
        </div>
      )}
      {selection.scores.length === 0 && (
        <Empty title="No session knows this repository yet">
          <p>Launch starts a new one.</p>
        </Empty>
      )}
      <ol class="candidates">
        {shown.map((score) => (
          <Candidate
            key={score.sessionId}
            score={score}
            name={names.get(score.sessionId) ?? score.sessionId}
            isChosen={score.sessionId === selection.sessionId}
            launch={launch}
            busy={busy}
          />
        ))}
      </ol>
      {selection.scores.length > shown.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show {selection.scores.length - shown.length} more
        </button>
      )}
    </section>
  )
}

const factors = [
  ['branch', 'branch', 0.25],
  ['recency', 'recent', 0.2],
  ['relevance', 'same task', 0.3],
  ['health', 'health', 0.15],
  ['capacity', 'room', 0.15],
] as const

interface CandidateProps {
  score: SessionScore
  name: string
  isChosen: boolean
  launch: Launch
  busy: boolean
}

function Candidate({ score, name, isChosen, launch, busy }: CandidateProps) {
  const { price } = score
  const route = { view: 'session', id: score.sessionId } as const
  const resume = (more: LaunchOptions) => (): void =>
    void launch({ resumeSessionId: score.sessionId, ...more })
  return (
    <li class={isChosen ? 'candidate chosen' : 'candidate'}>
      <strong class="total">{score.total.toFixed(2)}</strong>
      <div class="why">
        <a href={pathOf(route)} onClick={follow(route)}>
          {visible(name)}
        </a>
        <p class="faint">{visible(score.ceiling ?? score.reason)}</p>
        <dl class="factors">
          {factors.map(([factor, label, most]) => (
            <div key={factor}>
              <dt>{label}</dt>
              <dd>
                <meter
                  max={most}
                  value={score.factors[factor]}
                  aria-label={`${label}: ${score.factors[factor].toFixed(2)}`}
                />
                {score.factors[factor].toFixed(2)}
              </dd>
            </div>
          ))}
        </dl>
      </div>
      <div class="prices">
        <button type="button" disabled={busy || score.isRunning} onClick={resume({})}>
          Resume {usd(price?.resumeUsd)}
        </button>
        <button type="button" disabled={busy} onClick={resume({ forkSession: true })}>
          Fork {usd(price?.forkUsd)}
        </button>
        <span class="faint">
          {price && `${tokens(price.tokens)}, ${price.cache}; fresh ${usd(price.freshUsd)}`}
        </span>
      </div>
    </li>
  )
}
