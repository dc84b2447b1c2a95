// Which session would take a task: what can be done with prices, and every candidate with its scores and reasons.
import { useState } from 'preact/hooks'
import type { InputOf } from '../../../src/rpc/client.ts'
import type { SessionScore, SessionSelection } from '../data.ts'
import { tokens, usd, visible } from '../format.ts'
import { Link } from './link.tsx'

export type LaunchOptions = Partial<InputOf<'coding.launch'>>

type Action = SessionSelection['action']

/** One thing that a launch can do. */
export interface Option {
  action: Action
  sessionId?: string
  launch: LaunchOptions
  /** The label of the button. */
  nameWith: (names: Map<string, string>) => string
}

export function optionOf(
  selection: Pick<SessionSelection, 'action' | 'sessionId'> = { action: 'fresh' },
): Option {
  const { action, sessionId } = selection
  const name = (names: Map<string, string>): string =>
    visible((names.get(sessionId ?? '') ?? sessionId?.slice(0, 8) ?? '').slice(0, 40))
  if (action === 'queue')
    return { action, launch: {}, nameWith: () => 'Queue it behind the session that works there' }
  if (sessionId === undefined || action === 'fresh')
    return { action: 'fresh', launch: { fresh: true }, nameWith: () => 'Start a new session' }
  const isFork = action === 'fork'
  return {
    action,
    sessionId,
    launch: { resumeSessionId: sessionId, forkSession: isFork },
    nameWith: (names) => `${isFork ? 'Fork' : 'Resume'} ${name(names)}`,
  }
}

/** What happened, once the session was started. */
export function startedText(option: Option, name: string, names: Map<string, string>): string {
  const { action, sessionId = '' } = option
  const from = names.get(sessionId) ?? sessionId.slice(0, 8)
  if (action === 'queue') return `${name} waits in the queue`
  if (action === 'fresh') return `${name} was started`
  return action === 'fork' ? `${name} was started as a fork of ${from}` : `${name} continues ${from}`
}

interface ChooseProps {
  selection: SessionSelection
  names: Map<string, string>
  chosen: Option
  choose: (option: Option) => void
}

function isSame(a: Option, b: Option): boolean {
  return a.action === b.action && a.sessionId === b.sessionId
}

/** A new session and the best earlier one, each with its price. */
export function Options({ selection, names, chosen, choose }: ChooseProps) {
  const [best] = selection.scores
  const all = [
    optionOf(),
    optionOf(selection),
    ...(best ? [optionOf({ action: best.isRunning ? 'fork' : 'resume', sessionId: best.sessionId })] : []),
    chosen,
  ]
  const once = all.filter((option, i) => all.findIndex((other) => isSame(option, other)) === i)
  const priceOf = ({ action, sessionId }: Option): number | undefined => {
    if (action === 'fresh') return best?.price?.freshUsd
    const price = selection.scores.find((score) => score.sessionId === sessionId)?.price
    return action === 'fork' ? price?.forkUsd : price?.resumeUsd
  }
  const label = (option: Option): string =>
    option.action === 'fresh' ? 'New' : option.action === 'queue' ? 'Queue' : option.nameWith(names)
  return (
    <fieldset class="options">
      <legend>Start it as</legend>
      {once.map((option) => (
        <label key={`${option.action} ${option.sessionId}`}>
          <input type="radio" name="what" checked={isSame(option, chosen)} onChange={() => choose(option)} />
          {label(option)}{' '}
          <span class="number">{priceOf(option) === undefined ? '' : usd(priceOf(option))}</span>
        </label>
      ))}
    </fieldset>
  )
}

/** The other candidates are rarely chosen; they are shown so that the decision can be checked. */
const shownCandidates = 5

export function Candidates({ selection, names, chosen, choose }: ChooseProps) {
  const [all, setAll] = useState(false)
  const shown = all ? selection.scores : selection.scores.slice(0, shownCandidates)
  return (
    <section aria-label="Selection">
      <h2>Why</h2>
      {/* A chosen candidate has its reason beside it. */}
      {selection.sessionId === undefined && <p>{visible(selection.reason)}</p>}
      <ol class="candidates">
        {shown.map((score) => (
          <Candidate
            key={score.sessionId}
            score={score}
            name={names.get(score.sessionId) ?? score.sessionId}
            chosen={chosen}
            choose={choose}
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

interface CandidateProps extends Pick<ChooseProps, 'chosen' | 'choose'> {
  score: SessionScore
  name: string
}

function Candidate({ score, name, chosen, choose }: CandidateProps) {
  const { price, sessionId } = score
  const pick = (action: 'resume' | 'fork', amount: number | undefined) => (
    <button
      type="button"
      disabled={action === 'resume' && score.isRunning}
      aria-pressed={isSame(chosen, optionOf({ action, sessionId }))}
      onClick={() => choose(optionOf({ action, sessionId }))}
    >
      {action === 'resume' ? 'Resume' : 'Fork'} {usd(amount)}
    </button>
  )
  return (
    <li class={chosen.sessionId === sessionId ? 'candidate chosen' : 'candidate'}>
      <strong class="total">{score.total.toFixed(2)}</strong>
      <div class="why">
        <Link to={{ view: 'session', id: sessionId }}>{visible(name)}</Link>
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
        {pick('resume', price?.resumeUsd)}
        {pick('fork', price?.forkUsd)}
        <span class="faint">
          {price && `${tokens(price.tokens)}, ${price.cache}; fresh ${usd(price.freshUsd)}`}
        </span>
      </div>
    </li>
  )
}
