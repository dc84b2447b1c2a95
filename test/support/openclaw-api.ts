// OpenClaw as its plugins see it, for tests of our plugin: it records what is registered and what is sent to chats. Two flavours:
// the interface of 2026.1.30 and that of 2026.9.6. The real programs are in test/full/openclaw-plugin.test.ts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type {
  CommandContext,
  OpenClawApi,
  OpenClawConfig,
  OpenClawTool,
  OutboundAdapter,
  PluginConfig,
  Respond,
  ToolContext,
} from '../../plugins/openclaw/src/openclaw-api.ts'

/** The oldest and the newest version that the plugin supports. */
export type OpenClawVersion = '2026.1.30' | '2026.9.6'

export const pluginFolder = join(import.meta.dirname, '../../plugins/openclaw/dist')

export interface Sent {
  to: string
  text: string
  threadId?: string
  /** The command behind each button. */
  buttons: string[]
}

type Handler = Parameters<OpenClawApi['registerGatewayMethod']>[1]

export interface FakeOpenClaw {
  api: OpenClawApi
  tools: Map<string, (context: ToolContext) => OpenClawTool | null>
  commands: Map<string, Parameters<OpenClawApi['registerCommand']>[0]>
  methods: Map<string, { scope: string }>
  sent: Sent[]
  /** Texts of events for which an agent was woken. */
  woken: string[]
  log: string[]
  /** While set, it decides what becomes of a send. */
  onSend?: (text: string) => Promise<void>
  startService(): void
  stopService(): Promise<void>
  tool(name: string, input: object, context?: ToolContext): Promise<string>
  command(line: string, context?: Partial<CommandContext>): Promise<{ text: string; isError?: boolean }>
  method(name: string, params?: Record<string, unknown>): Promise<Parameters<Respond>>
}

export const owner = { channel: 'telegram', to: '501' }

interface Options {
  version: OpenClawVersion
  stateDir: string
  config?: OpenClawConfig
  pluginConfig?: PluginConfig
  mode?: string
}

/** Loads the built plugin into it. */
export function openFakeOpenClaw(options: Options): FakeOpenClaw {
  const { version, stateDir } = options
  const claw = record(options)
  claw.api.runtime = version === '2026.9.6' ? newRuntime(options, claw) : oldRuntime(options, claw)
  if (version === '2026.1.30') writeSessionRow(stateDir)
  const load = createRequire(import.meta.url)
  const plugin = load(join(pluginFolder, 'index.cjs')) as { default: { register(api: OpenClawApi): void } }
  plugin.default.register(claw.api)
  return claw
}

function record({ version, stateDir, config = {}, pluginConfig, mode }: Options): FakeOpenClaw {
  const handlers = new Map<string, Handler>()
  let service: Parameters<OpenClawApi['registerService']>[0] | undefined
  const isNew = version === '2026.9.6'
  const claw: FakeOpenClaw = {
    tools: new Map(),
    commands: new Map(),
    methods: new Map(),
    sent: [],
    woken: [],
    log: [],
    api: {
      registrationMode: mode ?? (isNew ? 'full' : undefined),
      config,
      pluginConfig,
      runtime: {} as OpenClawApi['runtime'],
      registerTool: (make, { name }) => void claw.tools.set(name, make),
      registerCommand: (command) => void claw.commands.set(command.name, command),
      registerGatewayMethod(name, handler, scope) {
        claw.methods.set(name, scope)
        handlers.set(name, handler)
      },
      registerService: (registered) => void (service = registered),
    },
    startService() {
      const write = (text: string): void => void claw.log.push(text)
      service?.start({ stateDir, logger: { info: write, warn: write } })
    },
    stopService: async () => service?.stop(),
    async tool(name, input, context = {}) {
      const chat = isNew ? { deliveryContext: owner, senderIsOwner: true } : {}
      const made = claw.tools.get(name)!({
        agentId: 'main',
        sessionKey: 'agent:main:main',
        ...chat,
        ...context,
      })
      return (await made!.execute('call', input as Record<string, unknown>)).content[0]!.text
    },
    async command(line, context) {
      const [, name = '', args] = /^\/(\w+)\s*(.*)$/s.exec(line) ?? []
      const known = { senderId: '501', channel: 'telegram', isAuthorizedSender: true, args, config }
      const more = isNew ? { agentId: 'main', sessionKey: 'agent:main:main', to: 'telegram:501' } : {}
      return claw.commands.get(name)!.handler({ ...known, ...more, ...context })
    },
    method: (name, params) =>
      new Promise((resolve) => {
        void handlers.get(name)!({ params, respond: (...answer) => resolve(answer) })
      }),
  }
  return claw
}

function runtimeOf({ version, stateDir, config = {} }: Options, claw: FakeOpenClaw): OpenClawApi['runtime'] {
  return {
    version,
    config: version === '2026.9.6' ? { current: () => config } : { loadConfig: () => config },
    state: { resolveStateDir: () => stateDir },
    system: {
      enqueueSystemEvent: (text) => claw.woken.push(text),
      // Only 2026.1.30 needs its command line, to wake an agent.
      async runCommandWithTimeout(argv) {
        claw.woken.push((JSON.parse(argv[argv.indexOf('--params') + 1]!) as { message: string }).message)
        return { code: 0, stdout: '{}', stderr: '' }
      },
    },
    channel: {},
  }
}

/** Returns the id of the message: its chat and its number there. */
function keep({ sent }: FakeOpenClaw, message: Sent): string {
  sent.push(message)
  return `${message.to}.${sent.filter(({ to }) => to === message.to).length}`
}

function newRuntime(options: Options, claw: FakeOpenClaw): OpenClawApi['runtime'] {
  const runtime = runtimeOf(options, claw)
  const send = async (sent: Sent): Promise<{ messageId: string }> => {
    await claw.onSend?.(sent.text)
    return { messageId: keep(claw, sent) }
  }
  const adapter: OutboundAdapter = {
    sendText: ({ to, text, threadId }) => send({ to, text, threadId, buttons: [] }),
    sendPayload: ({ to, text, threadId, payload }) =>
      send({ to, text, threadId, buttons: payload['native'] as string[] }),
    renderPresentation: ({ payload, presentation }) => ({
      ...payload,
      native: presentation.blocks.flatMap((block) =>
        block.type === 'buttons' ? block.buttons.map(({ action, value }) => action?.command ?? value) : [],
      ),
    }),
  }
  const messages = [
    { role: 'user', content: 'what is the capital?', timestamp: 1_790_000_000_000 },
    { role: 'assistant', content: [{ type: 'text', text: 'Reykjavik' }] },
    { role: 'toolResult', content: [{ type: 'text', text: 'noise' }] },
  ]
  return {
    ...runtime,
    system: { ...runtime.system, requestHeartbeat: () => {} },
    channel: { outbound: { loadAdapter: async () => adapter } },
    subagent: { getSessionMessages: async () => ({ messages }) },
  }
}

function oldRuntime(options: Options, claw: FakeOpenClaw): OpenClawApi['runtime'] {
  const sendMessageTelegram = async (to: string, text: string, more: Record<string, unknown>) => {
    await claw.onSend?.(text)
    const rows = (more['buttons'] ?? []) as Array<Array<{ callback_data: string }>>
    const buttons = rows.flat().map((button) => button.callback_data)
    return { messageId: keep(claw, { to, text, buttons }) }
  }
  return { ...runtimeOf(options, claw), channel: { telegram: { sendMessageTelegram } } }
}

/** 2026.1.30 keeps the chat and the transcript of a session in files. */
function writeSessionRow(stateDir: string): void {
  const folder = join(stateDir, 'agents/main/sessions')
  mkdirSync(folder, { recursive: true })
  const row = { sessionId: 's1', deliveryContext: { ...owner, to: 'telegram:501' } }
  writeFileSync(join(folder, 'sessions.json'), JSON.stringify({ 'agent:main:main': row }))
  const said = (role: string, text: string): string =>
    JSON.stringify({ type: 'message', message: { role, content: [{ type: 'text', text }] } })
  const lines = [JSON.stringify({ type: 'session', version: 3 }), said('user', 'what is the capital?')]
  writeFileSync(join(folder, 's1.jsonl'), [...lines, said('assistant', 'Reykjavik'), ''].join('\n'))
}
