// The part of OpenClaw's interface that the plugin uses, from 2026.1.30 to 2026.9.6. Optional members exist only in some
// versions.

export interface OpenClawApi {
  /** 2026.9.6: "full" in the gateway, "discovery" where tools run, "cli-metadata" without a runtime. 2026.1.30 names none. */
  registrationMode?: string
  config: OpenClawConfig
  pluginConfig?: PluginConfig
  runtime: OpenClawRuntime
  registerTool(make: (context: ToolContext) => OpenClawTool | null, options: { name: string }): void
  registerCommand(command: {
    name: string
    description: string
    acceptsArgs: boolean
    requireAuth: boolean
    handler(context: CommandContext): Promise<{ text: string; isError?: boolean }>
  }): void
  registerGatewayMethod(
    name: string,
    handler: (call: { params?: Record<string, unknown>; respond: Respond }) => Promise<void>,
    options: { scope: string },
  ): void
  registerService(service: { id: string; start(context: ServiceContext): void; stop(): Promise<void> }): void
}

export type Respond = (
  ok: boolean,
  payload?: unknown,
  error?: { code: string; message: string; retryable?: boolean },
) => void

export interface ServiceContext {
  stateDir: string
  logger: { info(text: string): void; warn(text: string): void }
}

/** `plugins.entries.rockpool-openclaw.config`. */
export interface PluginConfig {
  url?: string
  tokenFile?: string
  start?: boolean
  command?: string[]
  agents?: Record<string, Record<string, unknown>>
}

export interface OpenClawConfig {
  agents?: {
    list?: AgentConfig[]
    defaults?: { workspace?: string; subagents?: { claudeCode?: Record<string, unknown> } }
  }
  session?: { store?: string }
}

export interface AgentConfig {
  id: string
  default?: boolean
  workspace?: string
  claudeCode?: Record<string, unknown>
  subagents?: { claudeCode?: Record<string, unknown> }
}

interface OpenClawRuntime {
  version: string
  config: { current?(): OpenClawConfig; loadConfig?(): OpenClawConfig }
  state: { resolveStateDir(): string }
  agent?: { resolveAgentWorkspaceDir?(config: OpenClawConfig, agentId: string): string }
  system: {
    enqueueSystemEvent(text: string, owner: { sessionKey: string; agentId?: string }): unknown
    requestHeartbeat?(options: Record<string, string>): void
    runCommandWithTimeout(
      argv: string[],
      options: { timeoutMs: number },
    ): Promise<{ code: number | null; stdout: string; stderr: string }>
  }
  channel: {
    outbound?: { loadAdapter?(channel: string): Promise<OutboundAdapter | undefined> }
    text?: { chunkMarkdownText?(text: string, limit: number): string[] }
    routing?: {
      resolveAgentRoute?(chat: {
        cfg: OpenClawConfig
        channel: string
        accountId?: string
        peer?: { kind: string; id: string }
      }): { agentId: string; sessionKey: string; accountId?: string }
    }
    telegram?: { sendMessageTelegram?: SendMessage }
    discord?: { sendMessageDiscord?: SendMessage }
    slack?: { sendMessageSlack?: SendMessage }
    signal?: { sendMessageSignal?: SendMessage }
    imessage?: { sendMessageIMessage?: SendMessage }
    whatsapp?: { sendMessageWhatsApp?: SendMessage }
  }
  /** 2026.9.6; it reads every session, not only those of subagents. */
  subagent?: {
    getSessionMessages(session: { sessionKey: string; limit: number }): Promise<{ messages: StoredMessage[] }>
  }
  tools?: {
    createMemorySearchTool?(options: {
      config: OpenClawConfig
      agentSessionKey?: string
    }): { execute(callId: string, input: { query: string; maxResults?: number }): Promise<ToolAnswer> } | null
  }
}

export interface StoredMessage {
  role?: string
  content?: string | Array<{ type?: string; text?: string }>
  timestamp?: string | number
}

/** 2026.1.30: one function for each channel. */
export type SendMessage = (
  to: string,
  text: string,
  options: Record<string, unknown>,
) => Promise<{ messageId?: string }>

/** 2026.9.6: one interface for all channels. */
export interface OutboundAdapter {
  textChunkLimit?: number
  sendText?(message: OutboundMessage): Promise<{ messageId?: string }>
  sendPayload?(message: OutboundMessage & { payload: Payload }): Promise<{ messageId?: string }>
  renderPresentation?(rendering: {
    payload: Payload
    presentation: Presentation
    ctx: OutboundMessage & { payload: Payload }
  }): Promise<Payload | null> | Payload | null
}

export interface OutboundMessage {
  cfg: OpenClawConfig
  to: string
  text: string
  accountId?: string
  threadId?: string
}

export interface Payload {
  text: string
  presentation?: Presentation
  [field: string]: unknown
}

interface Presentation {
  blocks: Array<
    | { type: 'text'; text: string }
    | {
        type: 'buttons'
        buttons: Array<{ label: string; value?: string; action?: { type: 'command'; command: string } }>
      }
  >
}

/** OpenClaw's context of the turn in which a tool is offered. 2026.1.30 has no `deliveryContext` and no `senderIsOwner`. */
export interface ToolContext {
  agentId?: string
  sessionKey?: string
  messageChannel?: string
  senderIsOwner?: boolean
  deliveryContext?: { channel?: string; to?: string; accountId?: string; threadId?: string | number }
}

export interface ToolAnswer {
  content: Array<{ type: 'text'; text: string }>
  details?: unknown
}

export interface OpenClawTool {
  name: string
  label: string
  description: string
  parameters: object
  catalogMode: 'direct-only'
  execute(callId: string, input: Record<string, unknown>, signal?: AbortSignal): Promise<ToolAnswer>
}

/** 2026.1.30 has only the first five. */
export interface CommandContext {
  senderId?: string
  channel: string
  isAuthorizedSender: boolean
  args?: string
  config: OpenClawConfig
  senderIsOwner?: boolean
  agentId?: string
  sessionKey?: string
  to?: string
  from?: string
  accountId?: string
  messageThreadId?: string | number
}

/** The configuration as it is now; `api.config` is the one of the start. */
export function currentConfig({ runtime, config }: OpenClawApi): OpenClawConfig {
  return runtime.config.current?.() ?? runtime.config.loadConfig?.() ?? config
}

/** Runs a command of the OpenClaw that this plugin is loaded in. It starts a process, which takes seconds: only for what a plugin
 *  cannot do inside the gateway. */
export async function runOpenClaw({ runtime }: OpenClawApi, args: string[]): Promise<string> {
  const argv = [process.execPath, process.argv[1]!, ...args]
  const { code, stdout, stderr } = await runtime.system.runCommandWithTimeout(argv, { timeoutMs: 120_000 })
  if (code !== 0)
    throw new Error(`openclaw ${args.slice(0, 3).join(' ')} failed: ${lastLine(stderr || stdout)}`)
  return stdout
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
