// Names that OpenClaw and the original specification gave to our operations. One table, never a second implementation: every
// interface (RPC, command line, MCP, chat) looks here first and then uses the operation's own name.
import type { Operation } from './operation.ts'

interface Alias {
  /** The operation. */
  of: string
  /** Fields with another spelling under this name: theirs to ours. */
  fields?: Readonly<Record<string, string>>
  /** Input that this name implies; the caller's input wins. The help leaves it out. */
  implied?: Readonly<Record<string, unknown>>
  /** The description and the examples under this name, when they differ. */
  description?: string
  examples?: string[]
}

interface AliasTable {
  /** RPC methods. */
  rpc: Readonly<Record<string, Alias>>
  /** Commands, words separated by one space. */
  command: Readonly<Record<string, Alias>>
  /** MCP tools. */
  tool: Readonly<Record<string, Alias>>
  /** Slash commands in a chat, without the slash. */
  chat: Readonly<Record<string, Alias>>
}

/** The plugin takes both spellings. */
const launchFields = {
  max_budget_usd: 'maxBudgetUsd',
  system_prompt: 'systemPrompt',
  allowed_tools: 'allowedTools',
  resume_session_id: 'resumeSessionId',
  fork_session: 'forkSession',
  multi_turn_disabled: 'multiTurnDisabled',
  permission_mode: 'permissionMode',
  origin_channel: 'originChannel',
}

export const aliases: AliasTable = {
  rpc: {
    agent: { of: 'turns.run', fields: { agentId: 'agent', timeoutSeconds: 'timeout' } },
    'chat.send': { of: 'turns.send', fields: { agentId: 'agent' } },
    'agent.wait': { of: 'turns.wait' },
    'chat.abort': { of: 'turns.stop' },
    'chat.history': { of: 'sessions.history', fields: { sessionKey: 'key' } },
    'chat.inject': { of: 'sessions.inject', fields: { sessionKey: 'key' } },
    'system.event': { of: 'turns.wake', fields: { agentId: 'agent' } },
    wake: { of: 'turns.wake', fields: { agentId: 'agent' } },
    'claude-code.sessions': { of: 'coding.sessions' },
    'claude-code.launch': { of: 'coding.launch', fields: launchFields },
    'claude-code.kill': { of: 'coding.kill', fields: { id: 'session' } },
    'claude-code.output': { of: 'coding.output', fields: { id: 'session' } },
    'claude-code.stats': { of: 'coding.stats' },
    'claude-code.respond': { of: 'coding.respond', fields: { id: 'session' } },
    'claude-code.move': { of: 'coding.move', fields: { id: 'session' } },
    'claude-code.resume': { of: 'coding.resume', fields: { id: 'session' } },
    'claude-code.fg': { of: 'coding.foreground', fields: { id: 'session' } },
    'claude-code.bg': { of: 'coding.background', fields: { id: 'session' } },
    'claude-code.approve': { of: 'approvals.answer' },
    'approvals.grants': { of: 'rules.list' },
    'approvals.revoke': { of: 'rules.remove' },
    why: { of: 'why.ask' },
  },
  command: {
    sessions: { of: 'sessions.list' },
    agents: { of: 'agents.list' },
    approvals: { of: 'approvals.list', examples: ['rockpool approvals', 'rockpool approvals list --all'] },
    channels: { of: 'channels.list' },
    devices: { of: 'devices.list' },
    rules: { of: 'rules.list' },
    schedules: { of: 'schedules.list' },
    mail: { of: 'mail.list' },
    'approvals grants': { of: 'rules.list' },
    'approvals revoke': { of: 'rules.remove' },
    machines: { of: 'machines.list' },
    memory: { of: 'memory.list' },
    pairing: { of: 'pairing.list' },
    tokens: { of: 'tokens.list' },
    turns: { of: 'turns.list' },
    vault: { of: 'vault.status' },
    history: { of: 'sessions.history' },
    search: { of: 'sessions.search' },
    config: { of: 'config.show' },
    why: { of: 'why.ask' },
    project: { of: 'project.status', examples: ['rockpool project', 'rockpool project ~/code/shop'] },
    'cc show': {
      of: 'cc.info',
      description: 'The same as `cc info`: show one session.',
      examples: ['rockpool cc show fix-login-bug'],
    },
    'system event': { of: 'turns.wake' },
    'cc sessions': { of: 'coding.sessions' },
    'cc launch': {
      of: 'coding.launch',
      fields: { repo: 'workdir', budget: 'maxBudgetUsd', fork: 'forkSession' },
    },
    'cc again': { of: 'coding.again' },
    'cc output': { of: 'coding.output' },
    'cc respond': { of: 'coding.respond' },
    'cc fg': {
      of: 'coding.foreground',
      description:
        'Stream a session into a chat, after the missed output; `cc output --follow` streams it here.',
    },
    'cc bg': {
      of: 'coding.background',
      description: 'Stop streaming a session, or all of them, into a chat.',
    },
    'cc interrupt': { of: 'coding.interrupt' },
    'cc release': { of: 'coding.release' },
    'cc kill': { of: 'coding.kill' },
    'cc move': { of: 'coding.move' },
    'cc resume': { of: 'coding.resume' },
    'cc resume-all': { of: 'coding.resume-all' },
    'cc review': { of: 'coding.review' },
    'cc pr': { of: 'coding.pr' },
    'cc seen': { of: 'coding.seen' },
    'cc fork': {
      of: 'coding.resume',
      implied: { fork: true },
      description:
        'Continue a copy of an earlier session, from its end or from a message; the earlier one stays unchanged.',
      examples: [
        'rockpool cc fork fix-login-bug "try it with the other parser"',
        'rockpool cc fork fix-login-bug "from here" --at-message 3f2a0b1c-… --wait',
      ],
    },
    'cc approve': {
      of: 'approvals.answer',
      examples: [
        'rockpool cc approve 3fa9',
        'rockpool cc approve --always',
        'rockpool cc approve 3fa9 --text "the second one"',
      ],
    },
    'cc deny': {
      of: 'approvals.answer',
      implied: { decision: 'deny', always: false },
      description: 'Deny a request of a session, with an optional reason.',
      examples: ['rockpool cc deny 3fa9', 'rockpool cc deny 3fa9 --text "not on main"'],
    },
    'cc approvals': {
      of: 'approvals.list',
      examples: ['rockpool cc approvals', 'rockpool cc approvals --all'],
    },
    'cc stats': { of: 'coding.stats' },
  },
  tool: {
    claude_launch: { of: 'coding.launch', fields: launchFields },
    claude_respond: { of: 'coding.respond' },
    claude_fg: { of: 'coding.foreground' },
    claude_bg: { of: 'coding.background' },
    claude_kill: { of: 'coding.kill' },
    claude_output: { of: 'coding.output' },
    claude_sessions: { of: 'coding.sessions' },
    claude_stats: { of: 'coding.stats' },
    recall_lost: { of: 'sessions.lost' },
    session_status: { of: 'sessions.status' },
    why: { of: 'why.ask' },
  },
  chat: {
    claude: { of: 'coding.launch' },
    claude_sessions: { of: 'coding.sessions' },
    claude_kill: { of: 'coding.kill' },
    claude_fg: { of: 'coding.foreground' },
    claude_bg: { of: 'coding.background' },
    claude_resume: { of: 'coding.resume' },
    claude_move: { of: 'coding.move' },
    claude_respond: { of: 'coding.respond' },
    claude_stats: { of: 'coding.stats' },
    approve: { of: 'approvals.answer' },
    deny: { of: 'approvals.answer', implied: { decision: 'deny' } },
  },
}

/** Nouns of operations with another name on the command line. Both work; the help, the completion and the pages show this. */
export const nounsInCommands: Readonly<Record<string, string>> = { coding: 'cc', code: 'cc' }

type NameKind = keyof AliasTable

/** The operation's own name, and the input in the operation's own spelling. */
export function resolveAlias(
  kind: NameKind,
  name: string,
  input: Record<string, unknown>,
): { name: string; input: Record<string, unknown> } {
  const alias = findAlias(kind, name)
  if (!alias) return { name, input }
  const spelled = Object.entries(input).map(([field, value]) => [alias.fields?.[field] ?? field, value])
  return { name: alias.of, input: { ...alias.implied, ...Object.fromEntries(spelled) } }
}

export function findAlias(kind: NameKind, name: string): Alias | undefined {
  return Object.hasOwn(aliases[kind], name) ? aliases[kind][name] : undefined
}

/** The operation as a command of this name: with its options, description and examples, without the implied fields. */
export function underAlias<Named extends Pick<Operation, 'description' | 'command'>>(
  operation: Named,
  alias: Alias | undefined,
): Named {
  if (!alias) return operation
  const renamed = Object.entries(alias.fields ?? {}).map(([theirs, ours]) => [ours, theirs])
  const flags = { ...operation.command?.flags, ...Object.fromEntries(renamed) }
  const examples = alias.examples ?? operation.command?.examples
  // Not a copy, which would build the schema of an operation that builds it at its first use.
  return Object.assign(Object.create(operation) as Named, {
    description: alias.description ?? operation.description,
    command: { ...operation.command, flags, implied: Object.keys(alias.implied ?? {}), examples },
  })
}

/** The name in a terminal: `sessions.list` is `sessions list`, `coding.kill` is `cc kill`. */
export function commandName(operationName: string): string {
  const [noun, ...verbs] = operationName.split('.')
  if (!Object.hasOwn(nounsInCommands, noun!)) return [noun, ...verbs].join(' ')
  const theirs = `${nounsInCommands[noun!]} `
  const named = Object.entries(aliases.command).find(
    ([name, { of }]) => of === operationName && name.startsWith(theirs),
  )
  return named?.[0] ?? theirs + verbs.join(' ')
}
