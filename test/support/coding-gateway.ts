// A gateway whose coding sessions are run by the offline agent, and the tools and commands that a chat has in it.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { makeOfflineAgent } from '../../src/agent/offline.ts'
import { codingCommands } from '../../src/chat/coding-commands.ts'
import { chatToolServer, chatTools } from '../../src/chat/chat-tools.ts'
import { isOwnersChat } from '../../src/rights/owners.ts'
import { configuredAgent } from '../../src/store/agents.ts'
import type { Address } from '../../src/domain/address.ts'
import type { Agent, AgentTool } from '../../src/domain/agent.ts'
import type { Session } from '../../src/domain/session.ts'
import type { Input } from '../../src/store/work-store.ts'
import { rightsOfTurn } from '../../src/flow/turn-rights.ts'
import { openHouse } from './gateway-house.ts'
import type { House, HouseOptions } from './gateway-house.ts'

interface GatewayConfig extends Record<string, unknown> {
  coding?: Record<string, unknown>
}

export async function openGateway(
  { coding, ...config }: GatewayConfig = {},
  options: Pick<HouseOptions, 'webRoot'> = {},
): Promise<House> {
  const house = await openHouse({
    ...options,
    before: (dir) => {
      mkdirSync(repositoriesIn(dir))
      // Agents start sessions only in configured repositories.
      const whole = { coding: { repos: { all: repositoriesIn(dir) }, ...coding }, ...config }
      writeFileSync(join(dir, 'rockpool.json'), JSON.stringify({ claude: { credential: 'none' }, ...whole }))
    },
  })
  const runtime = makeOfflineAgent({ clock: house.app.clock, directions: true })
  house.app.runtime = async () => runtime
  onTestFinished(() => house.close())
  return house
}

const repositoriesIn = (dir: string): string => join(dir, 'repositories')

export const newRepo = (house: House): string => mkdtempSync(join(repositoriesIn(house.dir), 'repo-'))

export const home: Address = { channel: 'console', accountId: 'default', to: 'me' }
export const stranger: Address = { channel: 'telegram', accountId: 'default', to: '7' }
export const parentKey = 'agent:main:main'

/** What an agent gets in a chat. */
export async function toolsOf(
  house: House,
  address = home,
  chatType: 'direct' | 'group' = 'direct',
  key = parentKey,
): Promise<Map<string, AgentTool>> {
  const entry = { sessionId: 's', updatedAt: 0, chatType }
  const tools = await offeredTools(house, { key, agentId: 'main', entry }, address)
  return new Map(tools.map((tool) => [tool.name, tool]))
}

/** Rockpool's tools in a turn of this session, by the rights of its author. */
export async function offeredTools(house: House, session: Session, address: Address): Promise<AgentTool[]> {
  const { app } = house
  const make = chatTools(app)
  const isOwners = (chat: Address): boolean =>
    isOwnersChat(chat, app.config.channels, { find: () => undefined })
  const agentOf = (agentId: string): Agent => configuredAgent(app.config, app.paths, agentId)
  const rights = rightsOfTurn(session, { address }, { config: app.config, isOwners, agentOf })
  const servers = await make(session, address, rights)
  return servers.find(({ name }) => name === chatToolServer)?.tools ?? []
}

export const textOf = async (
  tool: AgentTool | undefined,
  input: Record<string, unknown> = {},
): Promise<string> => (await tool!.call(input)).text

/** What the owner types in a chat, and what is answered there. */
export async function typed(house: House, line: string, address: Address = home): Promise<string> {
  const [, name = '', rest = ''] = /^\/(\w+)\s*([\s\S]*)$/.exec(line) ?? []
  const command = codingCommands(house.app).find((each) => each.name === name)
  const input = { message: { address, sender: { id: 'ada' } } } as Input
  const reply = await command!.run(rest, input)
  return reply?.text ?? ''
}
