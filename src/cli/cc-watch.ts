// `rockpool cc watch`: coding sessions and plain `claude` terminals live on the whole screen, with keys to look, answer, allow
// and end.
import { basename } from 'node:path'
import { emitKeypressEvents } from 'node:readline'
import { titleText } from '../domain/machine-text.ts'
import { asRockpoolError, messageAndHint, RockpoolError } from '../domain/errors.ts'
import type { InputOf, OutputOf } from '../rpc/client.ts'
import { openClient } from './call-operation.ts'
import type { OperationClient } from './call-operation.ts'
import type { Host } from './host.ts'
import { printRequest } from './print-approvals.ts'
import { byUrgency, codingLine, contextShare } from './print-coding.ts'
import { oneLine, visible } from './print.ts'
import { pressKey } from './watch-keys.ts'
import type { Key, WatchAction } from './watch-keys.ts'
import { renderWatch } from './watch-screen.ts'
import type { Screen, WatchRow, WatchState } from './watch-screen.ts'

const enterScreen = '\u001b[?1049h\u001b[?25l'
const leaveScreen = '\u001b[?25h\u001b[?1049l'
const outputBlocks = 60
const pollMs = 500
const spinMs = 100
/** Discovery costs more than a look at our own rows. */
const nativeEveryMs = 3_000
const nativeCards = 20

/** Draws, reads keys and polls until the person leaves. */
export async function watch(host: Host): Promise<void> {
  if (!host.terminal.canAsk) {
    throw new RockpoolError('usage', 'cc watch needs a terminal.', {
      hint: 'Use `rockpool cc sessions --json` in a script.',
    })
  }
  const { stdin, stdout } = process
  const live = new LiveScreen(host, await openClient(host))
  stdout.write(enterScreen)
  stdin.setRawMode(true)
  emitKeypressEvents(stdin)
  stdin.resume()
  const redraw = (): void => live.draw()
  stdout.on('resize', redraw)
  const timers = [setInterval(() => void live.refresh(), pollMs), setInterval(() => live.spin(), spinMs)]
  try {
    await live.refresh()
    await new Promise<void>((leave) => {
      stdin.on('keypress', (_text: string | undefined, key: Key) => live.press(key, leave))
    })
  } finally {
    timers.forEach((timer) => clearInterval(timer))
    stdout.off('resize', redraw)
    stdin.setRawMode(false)
    stdin.pause()
    stdout.write(leaveScreen)
    await live.close()
  }
}

class LiveScreen {
  #host: Host
  #client: OperationClient
  #state: WatchState = { rows: [], selected: 0 }
  #polling: Promise<void> | undefined
  #native: { rows: WatchRow[]; at: number } = { rows: [], at: Number.NEGATIVE_INFINITY }

  constructor(host: Host, client: OperationClient) {
    this.#host = host
    this.#client = client
  }

  async close(): Promise<void> {
    await this.#polling
    await this.#client.close()
  }

  draw(): void {
    const lines = renderWatch(this.#state, this.#page()).map((line) => `${line}\u001b[K`)
    process.stdout.write(`\u001b[H${lines.join('\r\n')}`)
  }

  /** Moves the spinner of a working session. */
  spin(): void {
    if (this.#state.rows[this.#state.selected]?.state === 'working') this.draw()
  }

  press(key: Key, leave: () => void): void {
    const before = this.#state.selected
    const { state, action } = pressKey(this.#state, key, this.#page())
    this.#state = state
    if (action?.do === 'quit') return leave()
    if (action) void this.#act(action)
    else if (state.selected !== before) void this.refresh()
    this.draw()
  }

  /** One poll at a time, so that a slow answer does not overwrite a newer one. */
  refresh(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => (this.#polling = undefined))
    return this.#polling
  }

  async #poll(): Promise<void> {
    try {
      const rows = await this.#rows()
      // The selected session stays selected when its place in the list changes.
      const id = this.#state.rows[this.#state.selected]?.id
      const selected = Math.max(
        0,
        rows.findIndex((row) => row.id === id),
      )
      const workingSince = sinceOf(rows, this.#state.workingSince, this.#host.now())
      this.#state = { ...this.#state, rows, selected, workingSince }
      const row = rows[selected]
      if (row) this.#state = { ...this.#state, details: await this.#detailsOf(row) }
    } catch (error) {
      this.#state = { ...this.#state, notice: messageAndHint(error) }
      if (asRockpoolError(error).code === 'unavailable') await this.#reconnect()
    }
    this.draw()
  }

  async #rows(): Promise<WatchRow[]> {
    const { sessions } = await this.#client.call('coding.sessions', { limit: 200 })
    if (this.#host.now() - this.#native.at > nativeEveryMs) {
      const native = await this.#client.call('cc.list', { running: true, archived: false })
      this.#native = { rows: native.sessions.filter(isPlainTerminal).map(nativeRow), at: this.#host.now() }
    }
    const ours = new Set(sessions.map(({ claudeSessionId }) => claudeSessionId))
    const others = this.#native.rows.filter(({ id }) => !ours.has(id))
    const own = sessions.map((coding): WatchRow => ({ ...codingLine(coding), coding }))
    return [...own, ...others].toSorted(byUrgency)
  }

  async #detailsOf({ id, coding }: WatchRow): Promise<NonNullable<WatchState['details']>> {
    const { call } = this.#client
    if (!coding) {
      const { cards } = await call('cc.read', { id, limit: nativeCards })
      const said = cards.map(({ tool, text }) => (tool ? `🔧 ${oneLine(tool.name)}` : visible(text).trim()))
      return { id, text: said.filter(Boolean).join('\n') }
    }
    const approvalId = coding.waiting?.approvalId
    if (approvalId !== undefined) {
      const { approvals } = await call('approvals.list', {})
      const found = approvals.find((approval) => approval.id === approvalId)
      const { color } = this.#host.terminal
      const text = found && printRequest(found, { color })
      if (found) {
        const alike = this.#alikeSince(id, found.alike)
        return { id, approvalId, text: text!, alike, inputHash: found.inputHash }
      }
    }
    const { result } = await call('coding.output', { session: id, lines: outputBlocks })
    return { id, approvalId, text: visible(result) }
  }

  /** Since when the screen has shown exactly these requests together. */
  #alikeSince(id: string, ids: string[]): { ids: string[]; since: number } {
    const { details } = this.#state
    const isSame = details?.id === id && String(details.alike?.ids) === String(ids)
    return { ids, since: isSame ? details.alike!.since : this.#host.now() }
  }

  /** The gateway stopped or started: the next poll may have to ask another process. */
  async #reconnect(): Promise<void> {
    await this.#client.close()
    this.#client = await openClient(this.#host)
  }

  async #act(action: Exclude<WatchAction, { do: 'quit' }>): Promise<void> {
    const notice = await perform(action, this.#client).catch(messageAndHint)
    this.#state = { ...this.#state, notice, peek: undefined }
    await this.#polling
    await this.refresh()
  }

  #page(): Screen {
    const { columns: width, rows: height } = process.stdout
    return { width, height, color: this.#host.terminal.color, now: this.#host.now() }
  }
}

type NativeSession = OutputOf<'cc.list'>['sessions'][number]

/** Sessions of our own chats are answered in the chat. */
function isPlainTerminal({ source }: NativeSession): boolean {
  return source !== 'rockpool'
}

function nativeRow(session: NativeSession): WatchRow {
  const { sessionId: id, state, title, firstMessage, lastPrompt, repoPath, costUsd } = session
  const { waitingFor, stateText } = session
  const waits = waitingFor === undefined ? undefined : `waits in its terminal: ${waitingFor}`
  return {
    id,
    name: title ?? titleText(firstMessage),
    state,
    needsYou: state === 'needs you',
    now: waits ?? stateText ?? titleText(lastPrompt ?? firstMessage),
    where: basename(repoPath),
    lastActivityAt: Date.parse(session.lastModified),
    costUsd,
    context: contextShare(session.contextTokens, session.contextWindow),
  }
}

/** Since when each working session was seen at work; a session in its first turn has worked since its start. */
function sinceOf(
  rows: WatchRow[],
  before: ReadonlyMap<string, number> = new Map(),
  now: number,
): ReadonlyMap<string, number> {
  const working = rows.filter(({ state }) => state === 'working')
  const start = ({ coding }: WatchRow): number => (coding?.turns === 0 ? (coding.startedAt ?? now) : now)
  return new Map(working.map((row) => [row.id, before.get(row.id) ?? start(row)]))
}

async function perform(
  action: Exclude<WatchAction, { do: 'quit' }>,
  { call }: OperationClient,
): Promise<string> {
  const { row } = action
  if (action.do === 'kill') {
    await call('coding.kill', { session: row.id })
    return `${row.name} was ended.`
  }
  const id = row.coding?.waiting?.approvalId
  if (action.do === 'respond' && id === undefined) {
    await call('coding.respond', { session: row.id, message: action.text })
    return `Sent to ${row.name}.`
  }
  if (id === undefined) return `${row.name} asks nothing.`
  const { approvals } = await call('approvals.answer', { id, ...answerTo(row, action) })
  return settledText(approvals, row)
}

function settledText(approvals: OutputOf<'approvals.answer'>['approvals'], row: WatchRow): string {
  const names = approvals.map(({ session }) => session ?? row.name).join(', ')
  const [{ kind, state } = { kind: 'tool', state: 'denied' }] = approvals
  if (state === 'denied') return `Denied ${names}.`
  return kind === 'question' ? `Answered ${names}.` : `Allowed ${names}.`
}

/** A typed text answers a question or names an amount; for a plan it is the change, for a tool the reason to deny. */
function answerTo(
  { coding }: WatchRow,
  action: Extract<WatchAction, { do: 'respond' | 'decide' }>,
): Omit<InputOf<'approvals.answer'>, 'id'> {
  if (action.do === 'decide') {
    const { decision, inputHash, alike } = action
    return { decision, inputHash, alike }
  }
  const isNo = coding?.waiting?.for === 'plan' || coding?.waiting?.for === 'approval'
  return { decision: isNo ? 'deny' : 'allow', text: action.text }
}
