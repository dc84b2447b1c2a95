// How a conversation of ours is put to the SDK. What is fixed when the process starts is its shape; the functions are
// looked up when they are called, through the binding, because a process outlives the turn that opened it.
import type { HookCallback, Options } from '@anthropic-ai/claude-agent-sdk'
import type { AskPermission, ConversationOptions } from '../domain/agent.ts'
import type { SessionStore } from '../domain/sdk-contract.ts'
import type { TurnEvent } from '../domain/turn.ts'
import { refusalOf } from '../rights/tools.ts'
import type { Credential } from './credentials.ts'
import { CallDirectories, kindOf, makeCanUseTool, nobodyCanAnswer } from './permissions.ts'
import { makeToolServer } from './tool-server.ts'

/** Who a process works for at the moment; nobody, while it is a spare. */
export interface Binding {
  conversation?: { readonly options: ConversationOptions; hold(event?: TurnEvent): () => void }
}

export interface Surroundings {
  env: Record<string, string>
  credential: Credential | undefined
  /** The user's own `claude`. */
  binary?: string
  /** Where Claude's transcripts go besides its own files, when several machines share them. */
  sessionStore?: SessionStore
  /** The cgroup in which each of Claude's processes gets one of its own, where that is possible. */
  cgroups?: string
  /** Paths that no agent may read or change: our own state. */
  deniedPaths: readonly string[]
}

/** The same for two conversations that one process can serve one after the other. */
export function shapeOf(options: ConversationOptions): string {
  const { agent, cwd, systemPromptAppend, allowedTools, toolRights, additionalDirectories } = options
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
    additionalDirectories,
    tools,
    options.maxBudgetUsd,
    options.maxTurns,
    options.thinkingLevel,
    options.ephemeral,
    options.beforeTool !== undefined,
  ])
}

export function toSdkOptions(options: ConversationOptions, around: Surroundings, binding: Binding): Options {
  const { resume } = options
  const directories = new CallDirectories()
  return {
    cwd: options.cwd,
    env: around.env,
    ...(around.binary ? { pathToClaudeCodeExecutable: around.binary } : {}),
    ...(options.model ? { model: options.model } : {}),
    ...(resume ? { resume: resume.sdkSessionId, forkSession: resume.fork } : {}),
    ...(resume?.atMessage ? { resumeSessionAt: resume.atMessage } : {}),
    ...(options.newSdkSessionId && (!resume || resume.fork) ? { sessionId: options.newSdkSessionId } : {}),
    ...(options.title ? { title: options.title } : {}),
    ...(options.ephemeral
      ? { persistSession: false }
      : around.sessionStore
        ? { sessionStore: around.sessionStore }
        : {}),
    ...(options.maxBudgetUsd === undefined ? {} : { maxBudgetUsd: options.maxBudgetUsd }),
    ...(options.maxTurns === undefined ? {} : { maxTurns: options.maxTurns }),
    ...thinkingOptions(options.thinkingLevel),
    systemPrompt: {
      type: 'preset',
      preset: 'claude_code',
      append: systemPromptOf(options),
      // What we append follows the configuration and the skills, also in a conversation that is resumed.
      snapshot: false,
    },
    settingSources: options.agent.settingSources,
    settings: settingsOf(options, around),
    permissionMode: options.permissionMode,
    ...(options.permissionMode === 'bypassPermissions' ? { allowDangerouslySkipPermissions: true } : {}),
    // What does not reach the model cannot be called. The hook below refuses the rest.
    tools: [...options.toolRights.open],
    ...(options.additionalDirectories ? { additionalDirectories: options.additionalDirectories } : {}),
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

/** Rules go in as settings rather than as `allowedTools`: the SDK warns of every name in that list. */
function settingsOf(options: ConversationOptions, around: Surroundings): NonNullable<Options['settings']> {
  const ownTools = options.tools.map((server) => `mcp__${server.name}`)
  const deny = around.deniedPaths.flatMap((path) => [`Read(/${path})`, `Edit(/${path})`])
  return {
    permissions: { allow: [...options.allowedTools, ...ownTools], deny },
    // Another Claude session on this machine cannot say who asked it.
    crossSessionInbound: 'refuse',
    ...(around.credential?.apiKeyHelper ? { apiKeyHelper: around.credential.apiKeyHelper } : {}),
  }
}

function askThrough(binding: Binding): AskPermission {
  return async (request, signal) => {
    const { conversation } = binding
    if (!conversation) return nobodyCanAnswer(request, signal)
    const waiting = kindOf(request.toolName)
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

type Hooks = NonNullable<Options['hooks']>

function hooksOf(options: ConversationOptions, binding: Binding, beforeCall: HookCallback): Hooks {
  const held = options.beforeTool ? gates(beforeTool(binding)) : {}
  return {
    PreCompact: [{ timeout: 150, hooks: [beforeCompaction(binding)] }],
    ...held,
    PreToolUse: [{ hooks: [onlyOpenTools(options, binding), beforeCall] }, ...(held.PreToolUse ?? [])],
  }
}

/** Holds in every permission mode, and for sub-agents. */
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

/** Where Claude can be held: before a tool, after a batch of tools and before the next call to the model, and when a
 *  sub-agent is done and the one above it would go on. */
function gates(hold: HookCallback): Hooks {
  // A budget may be held for as long as its owner sleeps.
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

/** OpenClaw's levels in Claude's words. */
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
