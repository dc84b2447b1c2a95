// The configuration: one file, every key known, every default here. store/config-file.ts reads it.
import { z } from 'zod'
import { agentsConfig, claudeConfig } from './config/agent-settings.ts'
import { bindingsConfig, checkBindings } from './config/binding-settings.ts'
import { channelsConfig } from './config/channel-settings.ts'
import { codingConfig } from './config/coding-settings.ts'
import { discoveryConfig, mcpBridgeConfig, sessionSelectionConfig } from './config/discovery-settings.ts'
import { gatewayConfig, hooksConfig } from './config/gateway-settings.ts'
import { memoryConfig } from './config/memory-settings.ts'
import { machineConfig } from './config/machine-settings.ts'
import { messagesConfig } from './config/message-settings.ts'
import { sessionConfig } from './config/session-settings.ts'

const wholeConfig = z.strictObject({
  store: z.enum(['sqlite', 'files', 'postgres']).default('sqlite'),
  durability: z.enum(['full', 'relaxed']).default('full'),
  /** Days begin and end in this time zone; the machine's when absent. */
  timeZone: z.string().optional(),
  log: z
    .strictObject({
      level: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
      file: z.string().optional(),
    })
    .prefault({}),
  session: sessionConfig.prefault({}),
  agents: agentsConfig.prefault({}),
  bindings: bindingsConfig,
  claude: claudeConfig.prefault({}),
  messages: messagesConfig.prefault({}),
  channels: channelsConfig,
  gateway: gatewayConfig.prefault({}),
  hooks: hooksConfig.prefault({}),
  coding: codingConfig.prefault({}),
  discovery: discoveryConfig.prefault({}),
  sessionSelection: sessionSelectionConfig.prefault({}),
  mcpBridge: mcpBridgeConfig.prefault({}),
  memory: memoryConfig.prefault({}),
  machine: machineConfig.prefault({}),
})

export const configSchema = wholeConfig.superRefine(checkBindings)

export type Config = z.infer<typeof configSchema>
