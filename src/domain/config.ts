// The configuration: one file, every key known, every default here. store/config-file.ts reads it, docs/config.md is
// made from it, and the types of all settings are inferred from it.
import { z } from 'zod'
import { agentsConfig, claudeConfig } from './config/agent-settings.ts'
import { bindingsConfig, channelsConfig, checkBindings } from './config/channel-settings.ts'
import {
  codingConfig,
  discoveryConfig,
  mcpBridgeConfig,
  sessionSelectionConfig,
} from './config/coding-settings.ts'
import { mailConfig } from './config/mail-settings.ts'
import { messagesConfig, sessionConfig } from './config/session-settings.ts'

const gatewayConfig = z.strictObject({
  port: z.number().int().min(0).max(65_535).default(18_789),
  bind: z.string().default('127.0.0.1'),
  /** Further host names that the gateway accepts in requests, exact, with port. */
  hosts: z.array(z.string()).default([]),
  origins: z.array(z.string()).default([]),
  allowPlaintextLan: z.boolean().default(false),
})

const hooksConfig = z.strictObject({
  enabled: z.boolean().default(false),
  allowRequestSessionKey: z.boolean().default(false),
})

/** Settings of the search index, and of search by meaning. */
const memoryConfig = z.strictObject({
  /** Further folders with Markdown files. */
  folders: z.array(z.string()).default([]),
  /** The part of the transcripts that the indexes may take; from there on the oldest tool texts are left out. */
  indexShare: z.number().min(0).max(1).default(0.05),
  /** Search by meaning: with word vectors on this machine, with an endpoint in OpenAI's format, or not at all. */
  meaning: z
    .strictObject({
      use: z.enum(['machine', 'provider', 'none']).default('machine'),
      /** The endpoint without `/embeddings`. */
      url: z.url({ protocol: /^https?$/ }).optional(),
      model: z.string().optional(),
      apiKey: z.string().optional(),
      /** The languages that the model knows, for people. */
      languages: z.string().default('many languages'),
    })
    .refine(({ use, url, model }) => use !== 'provider' || (url !== undefined && model !== undefined), {
      error: 'a provider needs `url` and `model`',
    })
    .prefault({}),
})

/** This machine among those that share one PostgreSQL. */
const machineConfig = z.strictObject({
  /** Its name for the others; the host name when absent. */
  name: z.string().min(1).max(100).optional(),
  /** Its special abilities, for launches that ask for one: `gpu`, `office`. */
  labels: z.array(z.string().min(1).max(64)).default([]),
  /** How many chat turns it takes at once; others take the rest. */
  turnsAtOnce: z.int().min(1).max(1_000).default(16),
})

/** Copies of every session's files, kept after Claude Code has deleted them. */
const vaultConfig = z.strictObject({
  enabled: z.boolean().default(true),
  /** Above this size the oldest sessions are removed, those without a label first, none younger than a year. */
  maxGb: z.number().positive().default(20),
  /** Encrypts the vault with the content of this file; ROCKPOOL_VAULT_PASSPHRASE does it with a passphrase. */
  keyFile: z.string().optional(),
  /** A command that prints the passphrase, for example from the keyring of the desktop. */
  passphraseCommand: z.string().min(1).optional(),
  /** Where other machines find a copy of this vault: an absolute path, `s3://bucket/prefix`, or `postgres`. */
  shared: z.string().min(1).optional(),
})

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
  vault: vaultConfig.prefault({}),
  mail: mailConfig.prefault({}),
  sessionSelection: sessionSelectionConfig.prefault({}),
  mcpBridge: mcpBridgeConfig.prefault({}),
  memory: memoryConfig.prefault({}),
  machine: machineConfig.prefault({}),
})

export const configSchema = wholeConfig.superRefine(checkBindings)

export type Config = z.infer<typeof configSchema>
