// `rockpool cc watch`: all coding sessions live on the whole screen, with keys to look, answer, approve and end.
import { emitKeypressEvents } from 'node:readline'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import { openClient } from './call-operation.ts'
import type { OperationClient } from './call-operation.ts'
import type { Host } from './host.ts'
import { byUrgency } from './print-coding.ts'
import type { CodingRow } from './print-coding.ts'
import { pressKey, renderWatch } from './watch-screen.ts'
import type { Key, Screen, WatchAction, WatchState } from './watch-screen.ts'

const enterScreen = '\u001b[?1049h\u001b[?25l'
const leaveScreen = '\u001b[?25h\u001b[?1049l'
const outputBlocks = 60

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
  const timer = setInterval(() => void live.refresh(), 1000)
  try {
    await live.refresh()
    await new Promise<void>((leave) => {
      stdin.on('keypress', (_text: string | undefined, key: Key) => live.press(key, leave))
    })
  } finally {
    clearInterval(timer)
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
      const { sessions } = await this.#client.call('coding.sessions', { limit: 200 })
      const rows = sessions.toSorted(byUrgency)
      // The selected session stays selected when its place in the list changes.
      const id = this.#state.rows[this.#state.selected]?.id
      const at = rows.findIndex((row) => row.id === id)
      const selected = Math.max(0, at)
      this.#state = { ...this.#state, rows, selected }
      const row = rows[selected]
      if (row) this.#state = { ...this.#state, details: await detailsOf(row, this.#client) }
    } catch (error) {
      this.#state = { ...this.#state, notice: messageOf(error) }
      if (asRockpoolError(error).code === 'unavailable') await this.#reconnect()
    }
    this.draw()
  }

  /** The gateway stopped or started: the next poll may have to ask another process. */
  async #reconnect(): Promise<void> {
    await this.#client.close()
    this.#client = await openClient(this.#host)
  }

  async #act(action: Exclude<WatchAction, { do: 'quit' }>): Promise<void> {
    const notice = await perform(action, this.#client).catch(messageOf)
    this.#state = { ...this.#state, notice, peek: undefined }
    await this.#polling
    await this.refresh()
  }

  #page(): Screen {
    const { columns: width, rows: height } = process.stdout
    return { width, height, color: this.#host.terminal.color, now: this.#host.now() }
  }
}

async function detailsOf(
  { id, waiting }: CodingRow,
  { call }: OperationClient,
): Promise<NonNullable<WatchState['details']>> {
  const approvalId = waiting?.approvalId
  if (approvalId !== undefined) {
    const { approvals } = await call('approvals.list', {})
    const found = approvals.find((approval) => approval.id === approvalId)
    if (found) return { id, approvalId, text: found.shown, alike: found.alike }
  }
  const { result } = await call('coding.output', { session: id, lines: outputBlocks })
  return { id, approvalId, text: result }
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
  const id = row.waiting?.approvalId
  if (action.do === 'respond' && id === undefined) {
    await call('coding.respond', { session: row.id, message: action.text })
    return `Sent to ${row.name}.`
  }
  if (id === undefined) return `${row.name} asks nothing.`
  const alike = action.do === 'decide' && action.alike === true
  const { approvals } = await call('approvals.answer', { id, ...answerTo(row, action), alike })
  return `Answered ${approvals.map(({ session }) => session ?? row.name).join(', ')}.`
}

/** A typed text answers a question or names an amount; for a plan it is the change, for a tool the reason to deny. */
function answerTo(
  row: CodingRow,
  action: Extract<WatchAction, { do: 'respond' | 'decide' }>,
): { decision: 'allow' | 'deny'; text?: string } {
  if (action.do === 'decide') return { decision: action.decision }
  const isNo = row.waiting?.for === 'plan' || row.waiting?.for === 'approval'
  return { decision: isNo ? 'deny' : 'allow', text: action.text }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
