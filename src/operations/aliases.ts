// The names that the seeds and OpenClaw fix, for operations that we call otherwise. One table, never a second
// implementation: a door looks here first, then knows only the operation's own name.

export interface Alias {
  /** The operation. */
  of: string
  /** Fields that callers of this name spell differently: theirs to ours. */
  fields?: Readonly<Record<string, string>>
  /** Input that this name implies; what the caller gives wins. */
  given?: Readonly<Record<string, unknown>>
}

export interface AliasTable {
  /** RPC methods. */
  rpc: Readonly<Record<string, Alias>>
  /** Commands, words separated by one space. */
  command: Readonly<Record<string, Alias>>
  /** MCP tools. */
  tool: Readonly<Record<string, Alias>>
  /** Slash commands in a chat, without the slash. */
  chat: Readonly<Record<string, Alias>>
}

export const aliases: AliasTable = {
  rpc: {},
  command: {
    sessions: { of: 'sessions.list' },
    agents: { of: 'agents.list' },
    history: { of: 'sessions.history' },
    config: { of: 'config.show' },
  },
  tool: {},
  chat: {},
}

export type Door = keyof AliasTable

/** What a name means at a door: the operation's own name, and the input in the operation's own spelling. */
export function resolveAlias(
  door: Door,
  name: string,
  input: Record<string, unknown>,
): { name: string; input: Record<string, unknown> } {
  const alias = findAlias(door, name)
  if (!alias) return { name, input }
  const spelled = Object.entries(input).map(([field, value]) => [alias.fields?.[field] ?? field, value])
  return { name: alias.of, input: { ...alias.given, ...Object.fromEntries(spelled) } }
}

export function findAlias(door: Door, name: string): Alias | undefined {
  return Object.hasOwn(aliases[door], name) ? aliases[door][name] : undefined
}
