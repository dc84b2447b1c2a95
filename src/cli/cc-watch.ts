// `rockpool cc watch`: all coding sessions on the whole screen, live, with keys to look, answer, approve and end.
import { emitKeypressEvents } from 'node:readline'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { Asker } from './call-operation.ts'
import type { Host } from './local-command.ts'
import { byWhoMustAct } from './print-coding.ts'
import type { CodingRow } from './print-coding.ts'
import { pressKey } from './watch-keys.ts'
import type { Key, WatchAction } from './watch-keys.ts'
import { renderWatch } from './watch-screen.ts'
import type { Screen, WatchState } from './watch-screen.ts'

const enterScreen = '\u001b[?1049h\u001b[?25l'
const leaveScreen = '\u001b[?25h\u001b[?1049l'
const outputBlocks = 60

/** Draws, listens and asks until the person leaves. */
export async function watch(host: Host, openAsker: () => Promise<Asker>): Promise<void> {
  if (!host.terminal.canAsk) {
    throw new RockpoolError('usage', 'cc watch needs a terminal.', {
      hint: 'Use `rockpool cc sessions --json` in a script.',
    })
  }
  const { stdin, stdout } = process
  const live = new LiveScreen(host, await openAsker(), openAsker)
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
  #asker: Asker
  #openAsker: () => Promise<Asker>
  #state: WatchState = { rows: [], selected: 0 }
  #looking: Promise<void> | undefined

  constructor(host: Host, asker: Asker, openAsker: () => Promise<Asker>) {
    this.#host = host
    this.#asker = asker
    this.#openAsker = openAsker
  }

  async close(): Promise<void> {
    await this.#looking
    await this.#asker.close()
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

  /** One look at a time: a slow answer must not be overtaken by the next. */
  refresh(): Promise<void> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async #look(): Promise<void> {
    try {
      const answer = await this.#asker.ask({ name: 'coding.sessions' }, { limit: 200 })
      const rows = (answer as { sessions: CodingRow[] }).sessions.toSorted(byWhoMustAct)
      // Whatever moved meanwhile, the chosen one stays chosen.
      const chosen = this.#state.rows[this.#state.selected]?.id
      const selected = Math.max(
        0,
        rows.findIndex((row) => row.id === chosen),
      )
      this.#state = { ...this.#state, rows, selected }
      const row = rows[selected]
      if (row) {
        this.#state = { ...this.#state, details: await detailsOf(row, this.#asker) }
      }
    } catch (error) {
      this.#state = { ...this.#state, notice: wordsOf(error) }
      if (asRockpoolError(error).code === 'unavailable') await this.#askAnew()
    }
    this.draw()
  }

  /** The gateway stopped or started: the next poll finds out which process to ask. */
  async #askAnew(): Promise<void> {
    await this.#asker.close()
    this.#asker = await this.#openAsker()
  }

  async #act(action: Exclude<WatchAction, { do: 'quit' }>): Promise<void> {
    const notice = await perform(action, this.#asker).catch(wordsOf)
    this.#state = { ...this.#state, notice, peek: undefined }
    await this.#looking
    await this.refresh()
  }

  #page(): Screen {
    const { columns: width, rows: height } = process.stdout
    return { width, height, color: this.#host.terminal.color, now: this.#host.now() }
  }
}

async function detailsOf(row: CodingRow, asker: Asker): Promise<NonNullable<WatchState['details']>> {
  const { id } = row
  const asks = row.waiting?.approvalId
  if (asks !== undefined) {
    const { approvals } = (await asker.ask({ name: 'approvals.list' }, {})) as {
      approvals: Array<{ id: string; shown: string; alike: number }>
    }
    const asked = approvals.find((approval) => approval.id === asks)
    if (asked) return { id, asks, text: asked.shown, alike: asked.alike }
  }
  const output = await asker.ask({ name: 'coding.output' }, { session: id, lines: outputBlocks })
  return { id, asks, text: (output as { result: string }).result }
}

async function perform(action: Exclude<WatchAction, { do: 'quit' }>, asker: Asker): Promise<string> {
  const { row } = action
  if (action.do === 'kill') {
    await asker.ask({ name: 'coding.kill' }, { session: row.id })
    return `${row.name} was ended.`
  }
  const id = row.waiting?.approvalId
  if (action.do === 'respond' && id === undefined) {
    await asker.ask({ name: 'coding.respond' }, { session: row.id, message: action.text })
    return `Sent to ${row.name}.`
  }
  if (id === undefined) return `${row.name} asks nothing.`
  const alike = action.do === 'decide' && action.alike === true
  const answered = await asker.ask({ name: 'approvals.answer' }, { id, ...answerTo(row, action), alike })
  const { approvals } = answered as { approvals: Array<{ session?: string }> }
  return `Answered ${approvals.map(({ session }) => session ?? row.name).join(', ')}.`
}

/** Words answer a question or name an amount; for a plan they say what to change, for a tool why not. */
function answerTo(
  row: CodingRow,
  action: Extract<WatchAction, { do: 'respond' | 'decide' }>,
): { decision: 'allow' | 'deny'; text?: string } {
  if (action.do === 'decide') return { decision: action.decision }
  const isNo = row.waiting?.for === 'plan' || row.waiting?.for === 'approval'
  return { decision: isNo ? 'deny' : 'allow', text: action.text }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
