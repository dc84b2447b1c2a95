// A gateway in a process of its own, the real Claude binary behind it, and Debian's Chromium before it: what a person
// has who opens the dashboard.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { makeClaudeHome, testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { startMessagesApi } from './messages-api.ts'
import type { MessagesApi } from './messages-api.ts'
import { dashboardFonts, takesPictures } from './picture-fonts.ts'

export const chromiumPath = '/usr/bin/chromium'
export const hasChromium = existsSync(chromiumPath)

/** The address bar would load two pages of its own in every window. The rest is Playwright's list, which ours replaces. */
const unneededFeatures = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'AimEnabled',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
]

/** Nothing of the browser's own talks to anybody. */
const quiet = [
  `--disable-features=${unneededFeatures.join(',')}`,
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath, args: quiet, headless: true })
}

/** What a browser keeps of a login: the cookie, and the page key in the storage of our origin. */
type LoggedIn = Exclude<BrowserContextOptions['storageState'], string | undefined>

interface Ready {
  url: string
  tokenFile: string
  pid: number
}

export interface DashboardHouse {
  home: ClaudeHome
  api: MessagesApi
  browser: Browser
  url(): string
  /** Calls an operation as the operator. */
  call<Output>(method: string, params?: Record<string, unknown>): Promise<Output>
  /** A logged-in page; every page has a browser context of its own. */
  open(path?: string, options?: BrowserContextOptions): Promise<Page>
  /** Ends the gateway; `start` brings it back at the same port. */
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export async function openDashboard(
  options: {
    config?: Record<string, unknown>
    before?: (home: ClaudeHome) => void
    /** A home made by the test; else an unused one. */
    homeFor?: (apiUrl: string) => ClaudeHome
    /** `rockpool demo` instead of a gateway with Claude. */
    isDemo?: boolean
  } = {},
): Promise<DashboardHouse> {
  const api = await startMessagesApi()
  const home = options.homeFor?.(api.url) ?? makeClaudeHome({ apiUrl: api.url, name: 'dashboard' })
  writeFileSync(
    join(home.stateDir, 'rockpool.json'),
    JSON.stringify({ claude: { spare: false }, ...options.config }),
    { mode: 0o600 },
  )
  options.before?.(home)
  const [browser, first] = await Promise.all([
    openBrowser(),
    startGateway(home, 0, options.isDemo ? 'demo' : 'up'),
  ])
  let { child, ready } = first
  const contexts = new Set<BrowserContext>()
  let loggedIn: LoggedIn | undefined
  const house: DashboardHouse = {
    home,
    api,
    browser,
    url: () => ready.url,
    call: (method, params = {}) => callOperation(ready, method, params),
    async open(path = '/', contextOptions = {}) {
      loggedIn ??= await logIn(house)
      const context = await browser.newContext({
        viewport: { width: 1280, height: 800 },
        deviceScaleFactor: takesPictures ? 2 : 1,
        // The policy of the page forbids fonts that the gateway does not serve.
        bypassCSP: takesPictures,
        storageState: loggedIn,
        // Animations of pages that wait would take most of the processor time.
        reducedMotion: 'reduce',
        ...contextOptions,
      })
      contexts.add(context)
      context.setDefaultTimeout(45_000)
      const page = await context.newPage()
      await page.goto(ready.url + path)
      await page.getByRole('navigation', { name: 'Views' }).waitFor()
      if (takesPictures) await page.addStyleTag({ content: dashboardFonts() })
      return page
    },
    stop: () => endProcess(child),
    async start() {
      ;({ child, ready } = await startGateway(home, Number(new URL(ready.url).port)))
    },
    async close() {
      await Promise.all([...contexts].map((context) => context.close()))
      await browser.close()
      await endProcess(child)
      await api.close()
      home.remove()
    },
  }
  return house
}

/** As the page does it with the code of a link; the way in itself has tests of its own. */
async function logIn(house: DashboardHouse): Promise<LoggedIn> {
  const { code } = await house.call<{ code: string }>('dashboard.code')
  const answer = await fetch(`${house.url()}/login`, {
    method: 'POST',
    headers: { origin: house.url(), 'content-type': 'application/json' },
    body: JSON.stringify({ secret: code }),
  })
  const [name = '', value = ''] = (answer.headers.get('set-cookie') ?? '').split(';', 1)[0]!.split('=')
  const { pageKey } = (await answer.json()) as { pageKey: string }
  const { origin, hostname: domain } = new URL(house.url())
  const expires = Date.now() / 1000 + 3600
  const cookie = { name, value, domain, path: '/', expires, httpOnly: true, secure: false }
  return {
    cookies: [{ ...cookie, sameSite: 'Strict' }],
    origins: [{ origin, localStorage: [{ name: 'rockpool-page-key', value: pageKey }] }],
  }
}

function startGateway(
  home: ClaudeHome,
  port: number,
  command = 'up',
): Promise<{ child: ChildProcess; ready: Ready }> {
  const program = join(import.meta.dirname, '../../bin/rockpool.js')
  const child = spawn(process.execPath, [program, command, '--port', String(port), '--json'], {
    cwd: home.project,
    env: home.variables,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  return new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => (said += chunk))
    child.on('exit', (code) => reject(new Error(`the gateway ended with ${code}: ${said}`)))
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
      if (out.includes('\n')) resolve({ child, ready: JSON.parse(out.split('\n', 1)[0]!) as Ready })
    })
  })
}

function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.on('exit', () => resolve())
    child.kill('SIGTERM')
  })
}

async function callOperation<Output>(ready: Ready, method: string, params: object): Promise<Output> {
  const answer = await fetch(`${ready.url}/rpc`, {
    method: 'POST',
    headers: { authorization: `Bearer ${readFileSync(ready.tokenFile, 'utf8').trim()}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await answer.json()) as { result: Output; error?: { message: string } }
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}

interface AboutTranscript {
  startedAt?: number
  branch?: string
  model?: string
  /** The transcript is that of a sub-agent. */
  subagent?: string
}

/** A transcript as Claude Code writes it, made line by line. */
export class NativeTranscript {
  readonly sessionId: string
  readonly #home: ClaudeHome
  readonly #file: string
  readonly #cwd: string
  readonly #about: AboutTranscript
  #parent: string | null = null
  #count = 0
  #startedAt: number | undefined
  readonly #branch: string
  readonly #model: string

  /** Written now, or as if it had started at another time. */
  constructor(home: ClaudeHome, cwd: string, sessionId: string, about: AboutTranscript = {}) {
    this.#home = home
    this.#about = about
    this.#startedAt = about.startedAt
    this.#branch = about.branch ?? 'main'
    this.#model = about.model ?? testModel
    this.sessionId = sessionId
    this.#cwd = cwd
    const folder = join(home.configDir, 'projects', cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'))
    const { subagent } = about
    this.#file = join(folder, sessionId, 'subagents', `agent-${subagent}.jsonl`)
    if (subagent === undefined) this.#file = join(folder, `${sessionId}.jsonl`)
    mkdirSync(dirname(this.#file), { recursive: true })
  }

  /** One of its sub-agents, with the note that Claude Code keeps of it. */
  subagent(id: string, note: Record<string, unknown>): NativeTranscript {
    const about = { ...this.#about, startedAt: this.#startedAt, subagent: id }
    const made = new NativeTranscript(this.#home, this.#cwd, this.sessionId, about)
    made.note(note)
    return made
  }

  note(note: Record<string, unknown>): void {
    writeFileSync(this.#file.replace(/\.jsonl$/, '.meta.json'), JSON.stringify(note))
  }

  later(ms: number): void {
    this.#startedAt = (this.#startedAt ?? Date.now()) + ms
  }

  prompt(text: string): string {
    return this.#append('user', { message: { role: 'user', content: text } })
  }

  answer(content: string | object[], usage: Record<string, number> = {}): string {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    return this.#append('assistant', {
      requestId: `req_${this.sessionId.slice(0, 8)}${this.#count}`,
      message: {
        id: `msg_${this.sessionId.slice(0, 8)}${this.#count}`,
        type: 'message',
        role: 'assistant',
        model: this.#model,
        content: blocks,
        stop_reason: 'end_turn',
        usage: {
          input_tokens: 1000,
          output_tokens: 200,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          ...usage,
        },
      },
    })
  }

  result(toolUseId: string, content: string, agentId?: string): string {
    return this.#append('user', {
      ...(agentId === undefined ? {} : { toolUseResult: { agentId } }),
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: toolUseId, content }] },
    })
  }

  compaction(): string {
    return this.#append('system', { subtype: 'compact_boundary', content: 'Conversation compacted' })
  }

  #append(type: string, more: object): string {
    const { subagent } = this.#about
    const kind = subagent === undefined ? '1111' : '2222'
    const uuid = `${(this.#count++).toString(16).padStart(8, '0')}-${kind}-4111-8111-${this.sessionId.slice(0, 8)}${this.sessionId.slice(-4)}`
    const record = {
      parentUuid: this.#parent,
      isSidechain: subagent !== undefined,
      agentId: subagent,
      userType: 'external',
      cwd: this.#cwd,
      sessionId: this.sessionId,
      version: '2.1.0',
      gitBranch: this.#branch,
      type,
      uuid,
      timestamp: new Date(this.#startedAt ?? Date.now()).toISOString(),
      ...more,
    }
    appendFileSync(this.#file, `${JSON.stringify(record)}\n`)
    this.#parent = uuid
    return uuid
  }
}
