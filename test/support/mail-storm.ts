// A storm of mail: real gateways, killed at random, and many sessions that write to each other. Most sessions are played by this
// process, which reports the same events as the plugin does; some are the real binary in a terminal. A ledger outside of the
// stores counts what each session received.
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Mail } from '../../src/domain/mail.ts'
import { readClaudeHookFile } from '../../src/store/claude-hook-file.ts'
import { identifyProcess } from '../../src/store/disk/process-identity.ts'
import { readGatewayToken } from '../../src/store/gateway-tokens.ts'
import { makeClaudeHome, type ClaudeHome } from './claude-home.ts'
import { openClaudeTerminal, putPlugin, type ClaudeTerminal } from './claude-terminal.ts'
import { startMessagesApi, type MessagesApi } from './messages-api.ts'
import { startProgram, type Running } from './program.ts'
import { randomFrom } from './random.ts'

export interface MailStorm {
  /** One for each machine. */
  machines: number
  databaseUrl?: string
  sessions: number
  /** How many of the sessions are real binaries. */
  real: number
  messages: number
  kills: number
  /** Of the pauses and of the moments at which gateways are killed. */
  seed: number
}

export interface MailStormReport {
  kills: number
  lost: string[]
  twiceUnmarked: string[]
  marked: number
  /** Of messages without a complete receipt, what is missing. */
  withoutReceipt: string[]
  real: number
  seconds: number
}

interface Machine {
  name: string
  home: ClaudeHome
  variables: Record<string, string>
  gateway: Running
}

/** What one session received: for each message, whether each delivery was marked as possibly repeated. */
type Ledger = Map<string, boolean[]>

interface PlayedSession {
  id: string
  machine: Machine
  ledger: Ledger
}

const sendersAtOnce = 16
/** As long as the plugin waits for the answer to a hook. */
const patienceMs = 1_000
const config = {
  claude: { credential: 'none' },
  mail: {
    wake: 'anyone',
    wakesPerHour: 1e6,
    wakesPerDay: 1e6,
    maxDepth: 1e6,
    perMinute: 1e6,
    maxWaiting: 1e6,
  },
  vault: { enabled: false },
}

export async function mailStorm(storm: MailStorm): Promise<MailStormReport> {
  const startedAt = Date.now()
  const api = await startMessagesApi()
  const machines = await Promise.all(
    Array.from({ length: storm.machines }, (_, n) => openMachine(api, storm, n)),
  )
  const world = new StormWorld(storm, machines, api)
  try {
    await world.openSessions()
    await Promise.all([world.sendAll(), world.killAll()])
    await world.settle()
    return { ...(await world.report()), seconds: Math.round((Date.now() - startedAt) / 1_000) }
  } finally {
    await world.close()
  }
}

async function openMachine(api: MessagesApi, { databaseUrl }: MailStorm, n: number): Promise<Machine> {
  const name = `m${n}`
  const home = makeClaudeHome({ apiUrl: api.url, name: `storm-${name}` })
  putPlugin(home)
  const shared = databaseUrl === undefined ? {} : { store: 'postgres', machine: { name } }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify({ ...config, ...shared }))
  const variables: Record<string, string> =
    databaseUrl === undefined ? home.variables : { ...home.variables, ROCKPOOL_DATABASE_URL: databaseUrl }
  return { name, home, variables, gateway: await startGateway(variables) }
}

async function startGateway(variables: Record<string, string>): Promise<Running> {
  const gateway = startProgram(['up', '--port', '0', '--json'], variables)
  await gateway.line
  return gateway
}

class StormWorld {
  readonly #storm: MailStorm
  readonly #machines: Machine[]
  readonly #api: MessagesApi
  readonly #random: () => number
  #played: PlayedSession[] = []
  #terminals: ClaudeTerminal[] = []
  #real: string[] = []
  #playing: Promise<unknown> = Promise.resolve()
  #sent: string[] = []
  #kills = 0
  #isOver = false

  constructor(storm: MailStorm, machines: Machine[], api: MessagesApi) {
    this.#storm = storm
    this.#machines = machines
    this.#api = api
    this.#random = randomFrom(storm.seed)
  }

  async openSessions(): Promise<void> {
    const { sessions, real } = this.#storm
    for (let n = 0; n < real; n++) await this.#openReal(this.#machines[n % this.#machines.length]!, n)
    for (let n = 0; n < sessions - real; n++) {
      const machine = this.#machines[n % this.#machines.length]!
      const session = { id: randomUUID(), machine, ledger: new Map<string, boolean[]>() }
      register(machine.home, session.id, n)
      await report(machine, 'SessionStart', session.id, { source: 'startup' })
      this.#played.push(session)
    }
    this.#playing = Promise.all(this.#played.map((session) => this.#play(session)))
  }

  async #openReal(machine: Machine, n: number): Promise<void> {
    const terminal = await openClaudeTerminal(machine.home)
    this.#terminals.push(terminal)
    await terminal.prompt(`hello from terminal ${n}`)
    const { sdkSessionId } = await this.#api.requested(({ prompt }) =>
      prompt.includes(`hello from terminal ${n}`),
    )
    this.#real.push(sdkSessionId!)
  }

  /** A session that works: an event after its tools, and the end of its turn now and then. */
  async #play({ id, machine, ledger }: PlayedSession): Promise<void> {
    const transcript = join(machine.home.root, `${id}.jsonl`)
    writeFileSync(transcript, '')
    // As Claude Code records them.
    const record = (entry: object): void => appendFileSync(transcript, `${JSON.stringify(entry)}\n`)
    for (let n = 1; !this.#isOver; n++) {
      const text = await report(machine, 'PostToolBatch', id)
      if (text) record({ type: 'attachment', content: text })
      for (const [mailId, isMarked] of mailsIn(text ?? ''))
        ledger.set(mailId, [...(ledger.get(mailId) ?? []), isMarked])
      record({ type: 'assistant' })
      if (n % 3 === 0) await report(machine, 'Stop', id, { transcript_path: transcript })
      await pause(300 + this.#random() * 300)
    }
  }

  async sendAll(): Promise<void> {
    const ids = [...this.#played.map(({ id }) => id), ...this.#real]
    let next = 0
    const sender = async (): Promise<void> => {
      for (let n = next++; n < this.#storm.messages; n = next++) {
        const [from, to] = [ids[n % ids.length]!, ids[(n * 7 + 1 + Math.floor(n / ids.length)) % ids.length]!]
        const machine = this.#machines[n % this.#machines.length]!
        const input = { to: `session:${to}`, text: `message number ${n}`, key: `k-${n}` }
        const { id } = await persist(() => call<Mail>(machine, 'mail.send', input, from))
        this.#sent.push(id)
      }
    }
    await Promise.all(Array.from({ length: sendersAtOnce }, sender))
  }

  async killAll(): Promise<void> {
    const { kills, messages } = this.#storm
    while (this.#kills < kills && this.#sent.length < messages) {
      const target = ((this.#kills + 1) / (kills + 1)) * messages
      while (this.#sent.length < target && this.#sent.length < messages) await pause(5)
      await pause(this.#random() * 300)
      const machine = this.#machines[this.#kills % this.#machines.length]!
      machine.gateway.child.kill('SIGKILL')
      await machine.gateway.ended
      machine.gateway = await startGateway(machine.variables)
      this.#kills++
      this.#log('gateway killed and started again')
    }
  }

  /** Until every message has been read, or nothing has changed for a minute. */
  async settle(): Promise<void> {
    this.#log('all messages sent')
    let [before, since] = ['', Date.now()]
    while (Date.now() - since < 60_000) {
      const open = (await this.#open()).length
      if (open === 0) return
      const now = `${open} open, ${this.#ledger().size} received`
      if (now !== before) [before, since] = [now, Date.now()]
      await pause(1_000)
    }
    this.#log(`nothing has changed for a minute: ${before}`)
  }

  #log(what: string): void {
    const seconds = Math.round(performance.now() / 1_000)
    process.stderr.write(
      `${seconds} s: ${what}; ${this.#sent.length} sent, ${this.#ledger().size} received\n`,
    )
  }

  async #open(): Promise<Mail[]> {
    const [machine] = this.#machines
    const states = ['accepted', 'delivered'].map(async (state) => {
      const { mail } = await persist(() =>
        call<{ mail: Mail[] }>(machine!, 'mail.list', { state, limit: 1_000 }),
      )
      return mail
    })
    return (await Promise.all(states)).flat()
  }

  async report(): Promise<Omit<MailStormReport, 'seconds'>> {
    this.#isOver = true
    await this.#playing
    const received = this.#ledger()
    const deliveries = [...received.values()]
    return {
      kills: this.#kills,
      lost: this.#sent.filter((id) => !received.has(id)),
      twiceUnmarked: [...received].flatMap(([id, marks]) => (marks.slice(1).includes(false) ? [id] : [])),
      marked: deliveries.flat().filter(Boolean).length,
      withoutReceipt: (await this.#open()).map(({ id, state, note = '' }) => `${id} ${state} ${note}`),
      real: this.#real.filter((id) => this.#lastTextOf(id).includes('Rockpool mail')).length,
    }
  }

  #ledger(): Ledger {
    const all: Ledger = new Map()
    const add = (id: string, marks: boolean[]): void => void all.set(id, [...(all.get(id) ?? []), ...marks])
    for (const { ledger } of this.#played) for (const [id, marks] of ledger) add(id, marks)
    // The last request of a session contains everything that its model has seen.
    for (const id of this.#real)
      for (const [mailId, isMarked] of mailsIn(this.#lastTextOf(id))) add(mailId, [isMarked])
    return all
  }

  #lastTextOf(session: string): string {
    const texts = this.#api.calls().flatMap((call) => (call.sdkSessionId === session ? call.text : []))
    // The longest one: Claude Code also asks for a title, without the conversation.
    return texts.reduce((longest, text) => (text.length >= longest.length ? text : longest), '')
  }

  async close(): Promise<void> {
    this.#isOver = true
    for (const terminal of this.#terminals) terminal.close()
    await this.#playing
    for (const { gateway } of this.#machines) gateway.child.kill('SIGTERM')
    await Promise.all(this.#machines.map(({ gateway }) => gateway.ended))
    await this.#api.close()
    for (const { home } of this.#machines) home.remove()
  }
}

/** In Claude's registry, as a working process: this one. */
function register({ configDir }: ClaudeHome, sessionId: string, n: number): void {
  const { pid, startTime: procStart } = identifyProcess(process.pid)!
  mkdirSync(join(configDir, 'sessions'), { recursive: true })
  writeFileSync(
    join(configDir, 'sessions', `${n + 1}.json`),
    JSON.stringify({ pid, procStart, sessionId, status: 'busy' }),
  )
}

function mailsIn(text: string): Array<[id: string, isMarked: boolean]> {
  const found = text.matchAll(/^Message ([0-9a-f-]{36})\n(?:From|Sent|Answers).*\n(?:.*\n)?(?:.*\n)?/gm)
  return [...found].map(([head, id]) => [id!, head.includes('possibly repeated')])
}

/** The answer of the gateway to an event; undefined if there was none, as without a gateway. */
async function report(
  { home }: Machine,
  name: string,
  session: string,
  more: object = {},
): Promise<string | undefined> {
  const hooks = readClaudeHookFile(home.stateDir)
  if (!hooks) return undefined
  try {
    const body = JSON.stringify({ hook_event_name: name, session_id: session, ...more })
    const headers = { authorization: `Bearer ${hooks.token}` }
    const signal = AbortSignal.timeout(patienceMs)
    const response = await fetch(hooks.url, { method: 'POST', headers, body, signal })
    const text = await response.text()
    if (!response.ok) return undefined
    const answer =
      text === '' ? {} : (JSON.parse(text) as { hookSpecificOutput?: { additionalContext?: string } })
    return answer.hookSpecificOutput?.additionalContext ?? ''
  } catch {
    // The gateway was killed, or the session has stopped waiting.
    return undefined
  }
}

async function call<T>({ home }: Machine, method: string, params: object, session?: string): Promise<T> {
  const hooks = readClaudeHookFile(home.stateDir)
  const headers: Record<string, string> = { authorization: `Bearer ${readGatewayToken(home.stateDir)}` }
  if (session !== undefined) headers['rockpool-session'] = session
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const url = hooks!.url.replace('/claude-hooks', '/rpc')
  const response = await fetch(url, { method: 'POST', headers, body })
  const answer = (await response.json()) as {
    result?: T
    error?: { message: string; data?: { retryable?: boolean } }
  }
  if (answer.result !== undefined) return answer.result
  throw new Error(answer.error?.message)
}

/** A sender does not give up: the key makes it one message. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt > 300) throw error
      await pause(100)
    }
  }
}
