// The effect of each key in `cc watch`: a new state of the screen, and an action if there is one.
import { isAsking } from './print-coding.ts'
import { alikeIn, isShownWhole } from './watch-screen.ts'
import type { Screen, WatchRow, WatchState } from './watch-screen.ts'

export interface Key {
  name?: string
  sequence?: string
  ctrl?: boolean
  shift?: boolean
}

export type WatchAction =
  | { do: 'quit' }
  | { do: 'respond'; row: WatchRow; text: string }
  | { do: 'decide'; row: WatchRow; decision: 'allow' | 'deny'; inputHash?: string; alike: string[] }
  | { do: 'kill'; row: WatchRow }

interface Pressed {
  state: WatchState
  action?: WatchAction
}

const steps: Readonly<Record<string, number>> = {
  up: -1,
  k: -1,
  down: 1,
  j: 1,
  pageup: -10,
  pagedown: 10,
}

export function pressKey(state: WatchState, key: Key, page: Screen): Pressed {
  if (key.ctrl && key.name === 'c') return { state, action: { do: 'quit' } }
  if (state.answer) return typeAnswer(state, state.answer, key)
  const quiet = { ...state, notice: undefined, help: undefined }
  if (state.ending) return answerEnding({ ...quiet, ending: undefined }, state.ending, key)
  if (state.help) return { state: quiet }
  if (key.sequence === '?') return { state: { ...quiet, help: true } }
  if (key.name === 'q' || key.name === 'escape') {
    return state.peek ? { state: { ...quiet, peek: undefined } } : { state, action: { do: 'quit' } }
  }
  const step = steps[key.name ?? '']
  if (step !== undefined) return { state: state.peek ? scrolled(quiet, step) : selected(quiet, step) }
  const row = state.rows[state.selected]
  return row ? actOn(row, quiet, key, page) : { state }
}

/** Only a yes ends the session. */
function answerEnding(state: WatchState, row: WatchRow, key: Key): Pressed {
  if (key.name === 'y') return { state, action: { do: 'kill', row } }
  return { state: { ...state, notice: `${row.name} was not ended.` } }
}

function actOn(row: WatchRow, state: WatchState, key: Key, page: Screen): Pressed {
  if (key.name === 'return') {
    return { state: { ...state, peek: row.coding && isAsking(row.coding) ? { from: 0 } : {} } }
  }
  if (!['r', 'a', 'd', 'x'].includes(key.name ?? '')) return { state }
  if (!row.coding) {
    const notice = `${row.name} runs in a terminal of its own: answer or end it there.`
    return { state: { ...state, notice } }
  }
  if (key.name === 'r') return { state: { ...state, answer: { text: '', row } } }
  if (key.name === 'x') return { state: { ...state, ending: row } }
  return decide(row, state, page, key)
}

/** A key that is pressed within this time after the number of requests has changed was meant for the earlier number. */
const readMs = 400

/** A request can be denied once it is on the screen, and allowed only after it was shown to its end. */
function decide(row: WatchRow, state: WatchState, page: Screen, key: Key): Pressed {
  if (!row.coding || !isAsking(row.coding))
    return { state: { ...state, notice: `${row.name} asks nothing.` } }
  const decision = key.name === 'a' ? 'allow' : 'deny'
  const isShown = state.details?.approvalId === row.coding.waiting?.approvalId
  if (decision === 'deny' ? isShown : isShownWhole(state, page)) {
    const alike = decision === 'allow' && key.shift === true ? alikeIn(state) : []
    const since = state.details?.alike?.since ?? 0
    if (alike.length > 0 && page.now - since < readMs) {
      const notice = `${alike.length + 1} ask the same now. Press A again to allow all of them.`
      return { state: { ...state, notice } }
    }
    return { state, action: { do: 'decide', row, decision, inputHash: state.details?.inputHash, alike } }
  }
  const notice = `Read it to the end, then press ${key.name}.`
  return { state: { ...state, peek: state.peek ?? { from: 0 }, notice } }
}

function selected(state: WatchState, step: number): WatchState {
  return { ...state, selected: Math.max(0, Math.min(state.rows.length - 1, state.selected + step)) }
}

function scrolled(state: WatchState, step: number): WatchState {
  return { ...state, peek: { from: Math.max(0, (state.peek?.from ?? Number.MAX_SAFE_INTEGER) + step) } }
}

function typeAnswer(state: WatchState, answer: NonNullable<WatchState['answer']>, key: Key): Pressed {
  const { text, row } = answer
  const done = { ...state, answer: undefined }
  if (key.name === 'escape') return { state: done }
  if (key.name === 'return') {
    return text.trim() === '' ? { state: done } : { state: done, action: { do: 'respond', row, text } }
  }
  if (key.name === 'backspace') {
    const shorter = [...new Intl.Segmenter().segment(text)].slice(0, -1)
    return { state: { ...state, answer: { row, text: shorter.map(({ segment }) => segment).join('') } } }
  }
  const typed = key.sequence && !key.ctrl && key.sequence >= ' ' ? key.sequence : ''
  return { state: { ...state, answer: { row, text: text + typed } } }
}
