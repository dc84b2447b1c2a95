// Our conversation options as options of the SDK. What is fixed when the process starts is its shape. Functions and tools are
// looked up at each call, through the binding, because a process outlives the turn that opened it.
import type { HookCallback, McpSdkServerConfigWithInstance, Options } from '@anthropic-ai/claude-agent-sdk'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { AgentTool, AskPermission, ConversationOptions, ToolServer } from '../domain/agent.ts'
import { errorText } from '../domain/errors.ts'
import type { SessionStore } from '../domain/sdk-contract.ts'
import type { TurnEvent } from '../domain/turn.ts'
import { refusalOf } from '../rights/tools.ts'
import type { Credential } from './credentials.ts'
import { CallDirectories, permissionKind, makeCanUseTool, denyUnasked } from './permissions.ts'

/** The conversation that a process works for; none while it is a spare. */
export interface Binding {
  conversation?: { readonly options: ConversationOptions; hold(event?: TurnEvent): () => void }
}

export interface ProcessSettings {
  env: Record<string, string>
  credential: Credential | undefined
  /** The user's own `claude`. */
  binary?: string
  /** Stores Claude's transcripts besides its own files, when several machines share them. */
  sessionStore?: SessionStore
  /** The cgroup in which each Claude process gets its own cgroup, where that is possible. */
  cgroups?: string
  /** Paths that no agent may read or change: our own state. */
  deniedPaths: readonly string[]
}

/** A text to compare: one process can serve two conversations, one after the other, if the text is the same for both. */
export function processShape(options: ConversationOptions): string {
  const { agent, cwd, systemPromptAppend, allowedTools, toolRights } = options
  const tools = options.tools.map((server) => [
    server.name,
    server.tools.map((tool) => [tool.name, tool.description, tool.inputSchema]),
  ])
  return JSON.stringify([
    cwd,
    agent.settingSources,
    agent.systemPrompt,
    systemPromptAppend,
    allowedTools,
    toolRights,
    tools,
    options.maxBudgetUsd,
    options.thinkingLevel,
    options.ephemeral,
    options.beforeTool !== undefined,
  ])
}

export function toSdkOptions(
  options: ConversationOptions,
  settings: ProcessSettings,
  binding: Binding,
): Options {
  const { resume } = options
  const directories = new CallDirectories()
  return {
    cwd: options.cwd,
    env: settings.env,
    pathToClaudeCodeExecutable: settings.binary || undefined,
    model: options.model || undefined,
    resume: resume?.sdkSessionId,
    forkSession: resume?.fork,
    resumeSessionAt: resume?.atMessage || undefined,
    sessionId: !resume || resume.fork ? options.newSdkSessionId : undefined,
    title: options.title || undefined,
    ...(options.ephemeral ? { persistSession: false } : { sessionStore: settings.sessionStore }),
    maxBudgetUsd: options.maxBudgetUsd,
    ...thinkingOptions(options.thinkingLevel),
    systemPrompt: {
      type: 'preset',
      preset: 'claude_code',
      append: systemPromptOf(options),
      // A resumed conversation gets the current configuration and skills, too.
      snapshot: false,
    },
    settingSources: options.agent.settingSources,
    settings: settingsOf(options, settings),
    permissionMode: options.permissionMode,
    allowDangerouslySkipPermissions: options.permissionMode === 'bypassPermissions',
    // The model sees only these. The hook below refuses all others.
    tools: [...options.toolRights.open],
    canUseTool: makeCanUseTool(askThrough(binding), (call) => directories.take(call) ?? options.cwd),
    mcpServers: Object.fromEntries(
      options.tools.map(({ name }) => [name, makeToolServer(name, () => toolServer(binding, name, options))]),
    ),
    hooks: hooksOf(options, binding, directories.hook),
    includePartialMessages: true,
    forwardSubagentText: true,
  }
}

export function systemPromptOf({ agent, systemPromptAppend }: ConversationOptions): string {
  return [agent.systemPrompt, systemPromptAppend].filter(Boolean).join('\n\n')
}

/** Rules are passed as settings rather than as `allowedTools`: the SDK warns about every name in that list. */
function settingsOf(
  options: ConversationOptions,
  settings: ProcessSettings,
): NonNullable<Options['settings']> {
  const ownTools = options.tools.map((server) => `mcp__${server.name}`)
  const deny = settings.deniedPaths.flatMap((path) => [`Read(/${path})`, `Edit(/${path})`])
  return {
    permissions: { allow: [...options.allowedTools, ...ownTools], deny },
    // A message of another Claude session on this machine does not tell on whose behalf it was sent.
    crossSessionInbound: 'refuse',
    apiKeyHelper: settings.credential?.apiKeyHelper,
  }
}

function askThrough(binding: Binding): AskPermission {
  return async (request, signal) => {
    const { conversation } = binding
    if (!conversation) return denyUnasked(request, signal)
    const waiting = permissionKind(request.toolName)
    const release = conversation.hold({ type: 'waiting', for: waiting === 'tool' ? 'permission' : waiting })
    try {
      return await conversation.options.askPermission(request, signal)
    } finally {
      release()
    }
  }
}

function toolServer(
  binding: Binding,
  name: string,
  options: ConversationOptions,
): ConversationOptions['tools'][number] | undefined {
  return (binding.conversation?.options ?? options).tools.find((server) => server.name === name)
}

/** Our own tools as an MCP server inside this process. */
function makeToolServer(name: string, current: () => ToolServer | undefined): McpSdkServerConfigWithInstance {
  const instance = new McpServer({ name, version: '1.0.0' }, { capabilities: { tools: {} } })
  instance.server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: (current()?.tools ?? []).map(describe),
  }))
  instance.server.setRequestHandler(CallToolRequestSchema, (request) =>
    callTool(current(), request.params.name, request.params.arguments ?? {}),
  )
  return { type: 'sdk', name, instance }
}

function describe(tool: AgentTool): object {
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: { ...tool.inputSchema, type: 'object' as const },
    annotations: { readOnlyHint: tool.readOnly ?? false },
    // Otherwise Claude finds the tool only if it searches for it.
    _meta: { 'anthropic/alwaysLoad': true },
  }
}

async function callTool(
  server: ToolServer | undefined,
  name: string,
  input: Record<string, unknown>,
): Promise<CallToolResult> {
  const tool = server?.tools.find((tool) => tool.name === name)
  if (!tool) return { content: [{ type: 'text', text: `There is no tool ${name}.` }], isError: true }
  try {
    const { text, isError = false, structured } = await tool.call(input)
    return { content: [{ type: 'text', text }], isError, structuredContent: structured }
  } catch (error) {
    const reason = errorText(error)
    return { content: [{ type: 'text', text: `${name} failed: ${reason}` }], isError: true }
  }
}

type Hooks = NonNullable<Options['hooks']>

function hooksOf(options: ConversationOptions, binding: Binding, beforeCall: HookCallback): Hooks {
  const held = options.beforeTool ? gates(beforeTool(binding)) : {}
  return {
    PreCompact: [{ timeout: 150, hooks: [beforeCompaction(binding)] }],
    ...held,
    PreToolUse: [{ hooks: [onlyOpenTools(options, binding), beforeCall] }, ...(held.PreToolUse ?? [])],
  }
}

/** Applies in every permission mode, and to sub-agents. */
function onlyOpenTools(options: ConversationOptions, binding: Binding): HookCallback {
  return async (input) => {
    if (input.hook_event_name !== 'PreToolUse') return {}
    const { toolRights, tools } = binding.conversation?.options ?? options
    const refusal = refusalOf(input.tool_name, toolRights, tools)
    return refusal === undefined ? {} : denied(refusal)
  }
}

function denied(reason: string): Awaited<ReturnType<HookCallback>> {
  const decision = { permissionDecision: 'deny' as const, permissionDecisionReason: reason }
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }
}

/** Holds Claude before a tool, after a batch of tools and before the next call to the model, and when a sub-agent is done and
 *  its parent would continue. */
function gates(hold: HookCallback): Hooks {
  // The question about a budget may wait for days.
  const gate = [{ timeout: 7 * 86_400, hooks: [hold] }]
  return { PreToolUse: gate, PostToolBatch: gate, SubagentStop: gate }
}

function beforeCompaction(binding: Binding): HookCallback {
  return async (input) => {
    const { conversation } = binding
    if (input.hook_event_name !== 'PreCompact' || !conversation?.options.beforeCompaction) return {}
    const release = conversation.hold()
    try {
      const { trigger, session_id: sdkSessionId } = input
      await conversation.options.beforeCompaction({ trigger, sdkSessionId })
    } finally {
      release()
    }
    return {}
  }
}

function beforeTool(binding: Binding): HookCallback {
  return async (input, toolUseId, { signal }) => {
    const { conversation } = binding
    if (!conversation?.options.beforeTool) return {}
    const release = conversation.hold()
    try {
      const isTool = input.hook_event_name === 'PreToolUse'
      const name = isTool ? input.tool_name : undefined
      const isDone = input.hook_event_name === 'SubagentStop'
      const at = { name, toolUseId, subagentId: input.agent_id, isDone }
      const refusal = await conversation.options.beforeTool(at, signal)
      if (refusal === undefined) return {}
      return isTool ? denied(refusal) : { continue: false, stopReason: refusal }
    } finally {
      release()
    }
  }
}

type Thinking = Pick<Options, 'thinking' | 'effort'>

/** OpenClaw's levels as options of Claude. */
function thinkingOptions(level: string | undefined): Thinking {
  const levels: Record<string, Thinking> = {
    off: { thinking: { type: 'disabled' } },
    minimal: { effort: 'low' },
    low: { effort: 'low' },
    medium: { effort: 'medium' },
    high: { effort: 'high' },
    xhigh: { effort: 'xhigh' },
    max: { effort: 'max' },
    adaptive: { thinking: { type: 'adaptive' } },
  }
  return levels[level ?? ''] ?? {}
}
