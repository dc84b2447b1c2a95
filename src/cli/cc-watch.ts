// `rockpool cc watch`: all coding sessions on the whole screen, live, with keys to look, answer, approve and end.
import { emitKeypressEvents } from 'node:readline'
import { RockpoolError } from '../domain/errors.ts'
import type { Asker } from './ask.ts'
import type { Host } from './local-command.ts'
import { byWhoMustAct, columnsFor } from './print-coding.ts'
import type { CodingRow } from './print-coding.ts'
import { fit, oneLine, styled, table, visible } from './print.ts'
import type { Page } from './print.ts'

export interface WatchState {
  rows: CodingRow[]
  selected: number
  /** The output that is being looked at. */
  peek?: { name: string; text: string }
  /** What is being typed as an answer. */
  answer?: string
  notice?: string
}

const help = '↑↓ choose   ⏎ look   r answer   a approve   d deny   k end   q quit'
const enterScreen = '\u001b[?1049h\u001b[?25l'
const leaveScreen = '\u001b[?25h\u001b[?1049l'

/** The whole screen, exactly `height` lines. */
export function renderWatch(state: WatchState, page: Page & { height: number }): string[] {
  const waiting = state.rows.filter((row) => row.waiting).length
  const running = state.rows.filter((row) => row.status === 'running').length
  const title = styled(
    page,
    'bold',
    `Rockpool  ${waiting} wait for you, ${running} running, ${state.rows.length} in all`,
  )
  const foot = [
    state.answer === undefined
      ? styled(page, 'dim', fit(help, page.width))
      : fit(`answer> ${visible(state.answer)}█`, page.width),
    fit(oneLine(state.notice ?? ''), page.width),
  ]
  const room = page.height - foot.length - 2
  const body = state.peek ? peekLines(state.peek, page, room) : listLines(state, page, room)
  return [fit(title, page.width + (page.color ? 8 : 0)), '', ...padTo(body.slice(0, room), room), ...foot]
}

function listLines(state: WatchState, page: Page, room: number): string[] {
  if (state.rows.length === 0) return ['No coding sessions. Start one: rockpool cc launch "…" --repo .']
  const rows = state.rows.map((row) => ({ ...row, now: page.now }))
  const [head = '', ...lines] = table(rows, columnsFor(page.width), { ...page, width: page.width - 2 }).split(
    '\n',
  )
  const first = Math.max(0, Math.min(state.selected - Math.floor(room / 2), lines.length - (room - 1)))
  const shown = lines.map((line, i) =>
    i === state.selected ? styled(page, 'inverse', `> ${line}`) : `  ${line}`,
  )
  return [`  ${head}`, ...shown.slice(first, first + room - 1)]
}

function peekLines(peek: { name: string; text: string }, page: Page, room: number): string[] {
  const lines = visible(peek.text)
    .split('\n')
    .map((line) => fit(line, page.width))
  return lines.slice(-room)
}

function padTo(lines: string[], count: number): string[] {
  return [...lines, ...Array.from({ length: Math.max(0, count - lines.length) }, () => '')]
}

export interface Key {
  name?: string
  sequence?: string
  ctrl?: boolean
}

export type WatchAction =
  | { do: 'quit' }
  | { do: 'look'; row: CodingRow }
  | { do: 'respond'; row: CodingRow; text: string }
  | { do: 'decide'; row: CodingRow; decision: 'allow' | 'deny' }
  | { do: 'kill'; row: CodingRow }

/** What a key does to the screen, and what it asks for. */
export function pressKey(state: WatchState, key: Key): { state: WatchState; action?: WatchAction } {
  if (key.ctrl && key.name === 'c') return { state, action: { do: 'quit' } }
  if (state.answer !== undefined) return typeAnswer(state, state.answer, key)
  const row = state.rows[state.selected]
  const quiet = { ...state, notice: undefined }
  if (key.name === 'q' || key.name === 'escape') {
    return state.peek ? { state: { ...quiet, peek: undefined } } : { state, action: { do: 'quit' } }
  }
  if (key.name === 'up') return { state: { ...quiet, selected: Math.max(0, state.selected - 1) } }
  if (key.name === 'down')
    return { state: { ...quiet, selected: Math.min(state.rows.length - 1, state.selected + 1) } }
  if (!row) return { state }
  if (key.name === 'return') return { state: quiet, action: { do: 'look', row } }
  if (key.name === 'r') return { state: { ...quiet, answer: '' } }
  if (key.name === 'a') return { state: quiet, action: { do: 'decide', row, decision: 'allow' } }
  if (key.name === 'd') return { state: quiet, action: { do: 'decide', row, decision: 'deny' } }
  if (key.name === 'k') return { state: quiet, action: { do: 'kill', row } }
  return { state }
}

function typeAnswer(
  state: WatchState,
  answer: string,
  key: Key,
): { state: WatchState; action?: WatchAction } {
  const row = state.rows[state.selected]
  if (key.name === 'escape' || !row) return { state: { ...state, answer: undefined } }
  if (key.name === 'return') {
    const done = { ...state, answer: undefined }
    return answer.trim() === ''
      ? { state: done }
      : { state: done, action: { do: 'respond', row, text: answer } }
  }
  if (key.name === 'backspace') return { state: { ...state, answer: answer.slice(0, -1) } }
  const typed = key.sequence && !key.ctrl && key.sequence >= ' ' ? key.sequence : ''
  return { state: { ...state, answer: answer + typed } }
}

/** Draws, listens and asks until the person leaves. */
export async function watch(host: Host, asker: Asker): Promise<void> {
  if (!host.terminal.canAsk) {
    throw new RockpoolError('usage', 'cc watch needs a terminal.', {
      hint: 'Use `rockpool coding sessions --json` in a script.',
    })
  }
  const { stdin, stdout } = process
  let state: WatchState = { rows: [], selected: 0 }
  const draw = (): void => {
    const page = { width: stdout.columns, height: stdout.rows, color: host.terminal.color, now: host.now() }
    stdout.write(
      `\u001b[H${renderWatch(state, page)
        .map((line) => `${line}\u001b[K`)
        .join('\r\n')}`,
    )
  }
  const refresh = async (): Promise<void> => {
    state = await refreshed(state, asker)
    draw()
  }
  stdout.write(enterScreen)
  stdin.setRawMode(true)
  emitKeypressEvents(stdin)
  stdin.resume()
  const timer = setInterval(() => void refresh(), 1000)
  try {
    await refresh()
    await new Promise<void>((leave) => {
      stdin.on('keypress', (_text: string | undefined, key: Key) => {
        const pressed = pressKey(state, key)
        state = pressed.state
        if (pressed.action?.do === 'quit') return leave()
        if (pressed.action)
          void perform(pressed.action, asker).then((change) => ((state = { ...state, ...change }), draw()))
        return draw()
      })
    })
  } finally {
    clearInterval(timer)
    stdin.setRawMode(false)
    stdin.pause()
    stdout.write(leaveScreen)
  }
}

async function refreshed(state: WatchState, asker: Asker): Promise<WatchState> {
  const answer = (await asker.ask({ name: 'coding.sessions' }, { limit: 200 })) as { sessions: CodingRow[] }
  const chosen = state.rows[state.selected]?.id
  const rows = answer.sessions.toSorted(byWhoMustAct)
  const place = rows.findIndex((row) => row.id === chosen)
  return { ...state, rows, selected: Math.max(0, place) }
}

async function perform(
  action: Exclude<WatchAction, { do: 'quit' }>,
  asker: Asker,
): Promise<Partial<WatchState>> {
  const { row } = action
  try {
    if (action.do === 'look') {
      const output = (await asker.ask({ name: 'coding.output' }, { session: row.id, lines: 200 })) as {
        result: string
      }
      return { peek: { name: row.name, text: output.result } }
    }
    if (action.do === 'kill') {
      await asker.ask({ name: 'coding.kill' }, { session: row.id })
      return { notice: `${row.name} was ended.` }
    }
    const id = row.waiting?.approvalId
    if (action.do === 'respond' && id === undefined) {
      await asker.ask({ name: 'coding.respond' }, { session: row.id, message: action.text })
      return { notice: `Sent to ${row.name}.` }
    }
    if (id === undefined) return { notice: `${row.name} asks nothing.` }
    const said =
      action.do === 'respond' ? { decision: 'allow', text: action.text } : { decision: action.decision }
    await asker.ask({ name: 'approvals.answer' }, { id, ...said })
    return { notice: `Answered ${row.name}.` }
  } catch (error) {
    return { notice: error instanceof Error ? error.message : String(error) }
  }
}
