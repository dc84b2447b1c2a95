// The decision about what a session asks: allow, deny with a note, answer; by large buttons or by keys.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { InputOf } from '../../../src/rpc/client.ts'
import type { Approval } from '../data.ts'
import { ago, visible } from '../format.ts'
import { useKeys } from '../keyboard.ts'
import { useAction } from '../live.ts'
import { ReadToEnd } from './read-to-end.tsx'
import { Request, descriptionOf, headingOf } from './request.tsx'
import { Problem } from './states.tsx'

interface DecisionProps {
  approval: Approval
  onAnswered: () => void
  /** As `useSeen` says it. */
  isSeen: boolean
  /** Keyboard shortcuts are active: for the session that is shown, not for the cards of a list. */
  hasKeys?: boolean
}

/** What the field takes, and what the first button does. The text of a yes to a budget is an amount, never a note. */
export function wordsFor({ kind }: Pick<Approval, 'kind'>): { field: string; allow: string } {
  if (kind === 'question') return { field: 'Your answer: a number or your own words', allow: 'Answer' }
  if (kind === 'budget') return { field: 'Another amount in dollars (optional)', allow: 'Go on' }
  return { field: 'Note to Claude (optional)', allow: 'Allow once' }
}

export function Decision({ approval, onAnswered, isSeen, hasKeys = false }: DecisionProps) {
  const request = `${approval.id} ${approval.inputHash}`
  const { text, setText, rule, setRule, clear } = useDraft(request)
  const [readRequest, setReadRequest] = useState<string>()
  const lineId = useId()
  const field = useRef<HTMLInputElement>(null)
  const { run, busy: isAnswering, error } = useAction()
  const isQuestion = approval.kind === 'question'
  const words = wordsFor(approval)
  const isRead = readRequest === request
  // A second click, or a key that was pressed for the request before, decides nothing.
  const busy = isAnswering || !isSeen
  const answer = async (
    decision: 'allow' | 'deny',
    more: Partial<InputOf<'approvals.answer'>> = {},
  ): Promise<void> => {
    const { id, inputHash } = approval
    const said = text.trim() || undefined
    const added = decision === 'allow' ? rulesFor(approval).find(([label]) => label === rule)?.[1] : undefined
    if (await run('approvals.answer', { id, inputHash, decision, text: said, ...added, ...more })) {
      clear()
      onAnswered()
    }
  }
  const { alike } = approval
  const canAllowAll = useSettled(alike.join())
  const canAllow = !busy && isRead && (!isQuestion || text.trim() !== '')
  const byKey =
    (act: () => Promise<void>, isAllowed = true) =>
    (event: KeyboardEvent) => {
      // A key that is held down decides nothing, either.
      if (!event.repeat && !busy && isAllowed) void act()
    }
  const chooseByKey = (number: string): void => {
    if (busy || !field.current) return
    setText(number)
    // Enter sends the answer from the field; another number replaces this one.
    field.current.value = number
    field.current.focus()
    field.current.select()
  }
  const numbers = approval.choices.map((_, i) => String(i + 1))
  useKeys(
    hasKeys
      ? {
          a: byKey(() => answer('allow'), canAllow),
          d: byKey(() => answer('deny')),
          r: () => field.current?.focus(),
          ...Object.fromEntries(numbers.map((number) => [number, () => chooseByKey(number)])),
        }
      : {},
  )
  return (
    <section class="decision" aria-label="Decision">
      <h3>
        {headingOf(approval)} <span class="faint">{ago(approval.askedAt)}</span>
      </h3>
      <ReadToEnd
        key={request}
        isRead={isRead}
        onRead={() => setReadRequest(request)}
        purpose={isQuestion ? 'to answer it' : 'to allow it'}
        lineId={lineId}
      >
        <Request approval={approval} />
      </ReadToEnd>
      <Choices approval={approval} busy={busy} chosen={text.trim()} choose={setText} />
      <input
        ref={field}
        aria-label={words.field}
        placeholder={words.field}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur()
          if (event.key !== 'Enter' || event.repeat || !isQuestion || !canAllow) return
          // The keys decide about the next request again.
          event.currentTarget.blur()
          void answer('allow')
        }}
      />
      <div class="buttons large">
        <button
          type="button"
          class="primary"
          disabled={!canAllow}
          aria-describedby={isRead ? undefined : lineId}
          onClick={() => void answer('allow')}
        >
          {rule === '' ? words.allow : 'Allow and add the rule'} <kbd>a</kbd>
        </button>
        <RuleChoice approval={approval} rule={rule} choose={setRule} disabled={!isRead} />
        {alike.length > 0 && (
          <button
            type="button"
            disabled={!canAllow || !canAllowAll}
            onClick={() => void answer('allow', { alike })}
          >
            {isQuestion ? 'Answer' : 'Allow'} all {alike.length + 1} that ask the same
          </button>
        )}
        <button type="button" class="danger" disabled={busy} onClick={() => void answer('deny')}>
          Deny <kbd>d</kbd>
        </button>
      </div>
      {error && <Problem text={error} />}
    </section>
  )
}

/** What a person chose or wrote for a request. It is not the answer to the next request. */
function useDraft(request: string) {
  const [text, setText] = useState('')
  const [rule, setRule] = useState('')
  const clear = (): void => {
    setText('')
    setRule('')
  }
  useEffect(clear, [request])
  return { text, setText, rule, setRule, clear }
}

interface RuleChoiceProps {
  approval: Approval
  rule: string
  choose: (label: string) => void
  disabled: boolean
}

function RuleChoice({ approval, rule, choose, disabled }: RuleChoiceProps) {
  if (approval.rules.length === 0) return null
  return (
    <select
      aria-label="Which rule"
      value={rule}
      disabled={disabled}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      <option value="">add no rule</option>
      {rulesFor(approval).map(([label]) => (
        <option key={label} value={label}>
          {label}
        </option>
      ))}
    </select>
  )
}

type Rule = Pick<InputOf<'approvals.answer'>, 'always' | 'rule' | 'lasts'>

const choicesOfRules: Record<Approval['rules'][number], Array<[label: string, rule: Rule]>> = {
  exact: [['always exactly this, in this session', { always: true }]],
  command: [
    ['this command in this repository, for 8 hours', { rule: 'command', lasts: '8h' }],
    ['this command in this repository, always', { rule: 'command', lasts: 'always' }],
  ],
  edits: [
    ['edits in this repository, in this session', { rule: 'edits', lasts: 'session' }],
    ['edits in this repository, always', { rule: 'edits', lasts: 'always' }],
  ],
}

/** The rules that the gateway can add with the answer. */
export function rulesFor({ rules }: Pick<Approval, 'rules'>): Array<[label: string, rule: Rule]> {
  return rules.flatMap((kind) => choicesOfRules[kind])
}

const readMs = 400

/** False for a moment after another request of a session has taken the place of one that was shown, also if there was none in between.
 *  The caller outlives its `Decision`, which is shown only while there is a request. */
export function useSeen(rowId: string | undefined, id: string | undefined): boolean {
  const [seen, setSeen] = useState({ rowId, id })
  const isSameRow = seen.rowId === rowId
  const isNext = isSameRow && seen.id !== undefined && id !== undefined && seen.id !== id
  useEffect(() => {
    if (isSameRow && (id === undefined || seen.id === id)) return undefined
    const timer = setTimeout(() => setSeen({ rowId, id }), isNext ? readMs : 0)
    return () => clearTimeout(timer)
  }, [rowId, id, seen])
  return !isNext
}

/** False for a moment after the requests that a button answers have changed: the click may have been meant for the earlier
 *  requests. */
export function useSettled(ids: string): boolean {
  const [settled, setSettled] = useState<string>()
  useEffect(() => {
    const timer = setTimeout(() => setSettled(ids), readMs)
    return () => clearTimeout(timer)
  }, [ids])
  return settled === ids
}

interface ChoicesProps {
  approval: Approval
  busy: boolean
  /** The text of the answer: the number of a choice, or own words. */
  chosen: string
  choose: (number: string) => void
}

/** A choice is sent with the button below. */
function Choices({ approval, busy, chosen, choose }: ChoicesProps) {
  if (approval.choices.length === 0) return null
  return (
    <div class="choices" role="group" aria-label="Choices">
      {approval.choices.map((choice, i) => {
        const description = descriptionOf(approval, choice)
        const number = String(i + 1)
        return (
          <button
            key={choice}
            type="button"
            disabled={busy}
            aria-pressed={chosen === number}
            onClick={() => choose(number)}
          >
            <kbd>{number}</kbd> <strong>{visible(choice)}</strong>
            {description && <span class="faint"> {visible(description)}</span>}
          </button>
        )
      })}
    </div>
  )
}
