// The real agent for tests: the Claude binary, a private home, and the scripted Messages API.
import { randomUUID } from 'node:crypto'
import { openClaudeAgent } from '../../src/agent/claude.ts'
import { findCredential } from '../../src/agent/credentials.ts'
import { denyUnasked } from '../../src/agent/permissions.ts'
import type { AgentRuntime, Conversation, ConversationOptions, Prompt } from '../../src/domain/agent.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { configSchema } from '../../src/domain/config.ts'
import { silentLog } from '../../src/domain/log.ts'
import type { Log } from '../../src/domain/log.ts'
import type { TurnEvent, TurnResult } from '../../src/domain/turn.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { statePaths } from '../../src/store/paths.ts'
import { toolsOf } from '../../src/rights/tools.ts'
import type { ClaudeHome } from './claude-home.ts'
import { makeClaudeHome, testModel } from './claude-home.ts'
import type { MessagesApi } from './messages-api.ts'
import { startMessagesApi } from './messages-api.ts'

export interface TestAgent {
  api: MessagesApi
  home: ClaudeHome
  agent: AgentRuntime
  /** Options for a conversation with this key, with sensible values for the rest. */
  options(more?: Partial<ConversationOptions>): ConversationOptions
  open(more?: Partial<ConversationOptions>): Promise<Conversation>
  close(): Promise<void>
}

export async function makeTestAgent(
  claude: Record<string, unknown> = {},
  place: { api?: MessagesApi; home?: ClaudeHome; clock?: Clock; log?: Log } = {},
): Promise<TestAgent> {
  const api = place.api ?? (await startMessagesApi())
  const home = place.home ?? makeClaudeHome({ apiUrl: api.url, name: 'agent' })
  const environment = readEnvironment(home.variables)
  const agent = await openClaudeAgent({
    environment,
    config: configSchema.parse({ claude: { maxRetries: 1, ...claude }, timeZone: 'UTC' }),
    paths: statePaths(home.stateDir),
    credential: findCredential(environment, 'auto'),
    clock: place.clock ?? systemClock,
    log: place.log ?? silentLog,
    version: 'test',
  })
  const options = (more: Partial<ConversationOptions> = {}): ConversationOptions => ({
    key: 'agent:main:main',
    agent: { id: 'main', name: 'main', workspace: home.project, settingSources: [] },
    cwd: home.project,
    model: testModel,
    permissionMode: 'default',
    allowedTools: [],
    toolRights: toolsOf('owner'),
    tools: [],
    askPermission: denyUnasked,
    ...more,
  })
  return {
    api,
    home,
    agent,
    options,
    open: (more) => agent.open(options(more)),
    async close() {
      await agent.close()
      if (!place.api) await api.close()
      if (!place.home) home.remove()
    },
  }
}

export function prompt(text: string, more: Partial<Prompt> = {}): Prompt {
  return { text, uuid: randomUUID(), ...more }
}

/** Takes a turn and gives its result with everything that happened. */
export async function take(
  conversation: Conversation,
  text: string | Prompt,
): Promise<TurnResult & { events: TurnEvent[] }> {
  const events: TurnEvent[] = []
  const wanted = typeof text === 'string' ? prompt(text) : text
  const result = await conversation.turn(wanted, (event) => events.push(event))
  return { ...result, events }
}
