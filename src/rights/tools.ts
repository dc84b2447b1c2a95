// Which of Claude Code's own tools an author has. These are allow-lists: a tool that is not named here is closed, so a tool
// that a new version of Claude Code brings stays closed until it is added here.
import type { ToolRights } from '../domain/agent.ts'
import type { Author } from './author.ts'

/** Tools that work on files and the web within one conversation. Claude still asks before it changes something. */
const working = [
  'Agent',
  'AskUserQuestion',
  'Bash',
  'BashOutput',
  'Edit',
  'EnterPlanMode',
  'EnterWorktree',
  'ExitPlanMode',
  'ExitWorktree',
  'Glob',
  'Grep',
  'KillShell',
  'ListMcpResourcesTool',
  'NotebookEdit',
  'Read',
  'ReadMcpResourceTool',
  'ReportFindings',
  'Skill',
  'Task',
  'TaskCreate',
  'TaskGet',
  'TaskList',
  'TaskOutput',
  'TaskStop',
  'TaskUpdate',
  'TodoWrite',
  'ToolSearch',
  'WebFetch',
  'WebSearch',
  'Write',
]

/** A coding session may also watch what it started and coordinate its own sub-agents. */
const coding = [...working, 'Monitor', 'Workflow']

/** Claude's own tools that reach other sessions or later turns. They do not know the author of the turn, so no author has them,
 *  and the configuration cannot open them. Rockpool's own tools (`sessions_send`, schedules) do. */
export const refusedEverywhere: readonly string[] = [
  'ListAgents',
  'SendMessage',
  'CronCreate',
  'CronDelete',
  'CronList',
  'ScheduleWakeup',
  'RemoteTrigger',
]

const openTo: Record<Author | 'coding', readonly string[]> = {
  owner: working,
  program: working,
  guest: ['Read'],
  group: ['Read'],
  hook: [],
  coding,
}

/** `shared` are the tools that the configuration opens to guests and groups; rules such as `Bash(ls:*)` open the tool. */
export function toolsOf(author: Author | 'coding', shared: readonly string[] = []): ToolRights {
  const settingsServers = author === 'owner' || author === 'coding'
  const isShared = author === 'guest' || author === 'group'
  if (!isShared || shared.length === 0) return { open: openTo[author], settingsServers }
  const more = shared.map((rule) => rule.replace(/\(.*$/s, '').trim())
  const open = [...new Set([...openTo[author], ...more])].filter((name) => !refusedEverywhere.includes(name))
  return { open, settingsServers }
}

/** The reason why a tool is refused, as a text for the model; undefined when the tool may be used. `ownServers` are the MCP
 *  servers that Rockpool itself gives to the conversation. */
export function refusalOf(
  name: string,
  rights: ToolRights,
  ownServers: readonly OfferedServer[],
): string | undefined {
  if (name.startsWith('mcp__')) {
    if (rights.settingsServers || isOwnTool(name, ownServers)) return undefined
    return `${name} is not open in this conversation.`
  }
  if (rights.open.includes(name)) return undefined
  if (!refusedEverywhere.includes(name))
    return `${name} is not open in this conversation. Continue without it.`
  return `${name} is closed. Use Rockpool's own tools to reach other sessions or to schedule something.`
}

interface OfferedServer {
  name: string
  tools: ReadonlyArray<{ name: string }>
}

/** Compares whole names: `mcp__a__b__c` can be the tool `c` of a server `a__b`, or `b__c` of a server `a`. */
function isOwnTool(name: string, servers: readonly OfferedServer[]): boolean {
  return servers.some((server) => server.tools.some((tool) => name === `mcp__${server.name}__${tool.name}`))
}
