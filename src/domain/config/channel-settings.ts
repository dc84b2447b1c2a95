// `channels` and `bindings` in the configuration: our accounts on each platform, who may write to them, and which agent
// answers which chats. Settings of a platform apply to all its accounts; an account may override each. Secrets are
// better in credentials/ or the environment than here.
import { z } from 'zod'

/** People are identified by ids that the platform never reassigns. */
const personRules = {
  telegram: { rule: /^[1-9]\d{0,19}$/, hint: 'a numeric user id such as 123456789' },
  discord: { rule: /^\d{1,22}$/, hint: 'a numeric user id such as 80351110224678912' },
  whatsapp: { rule: /^(\+[1-9]\d{5,14}|\d{5,20}@lid)$/, hint: 'a phone number such as +491701234567' },
  web: { rule: /^[\w.-]{1,64}$/, hint: 'a name of letters, digits, `.`, `_` and `-`' },
} as const

export type PlatformName = keyof typeof personRules

function personId(platform: PlatformName) {
  const { rule, hint } = personRules[platform]
  return z
    .union([z.string(), z.number()])
    .transform((id) => String(id).replace(new RegExp(`^${platform}:`), ''))
    .refine((id) => id === '*' || rule.test(id), {
      error: (issue) =>
        `${JSON.stringify(issue.input)} is not a person's id on ${platform}; use ${hint}. Names can be changed by ` +
        'anybody, so they are not accepted',
    })
}

const owner = z.string().refine(isOwnerId, {
  error: (issue) =>
    `${JSON.stringify(issue.input)} is not an owner; use channel:id, such as telegram:123456789`,
})

function isOwnerId(id: string): boolean {
  const [platform, ...rest] = id.split(':')
  return personRules[platform as PlatformName]?.rule.test(rest.join(':')) ?? false
}

function accountSettings<P extends PlatformName>(platform: P) {
  const people = z.array(personId(platform))
  return z.strictObject({
    enabled: z.boolean().optional(),
    /** Who may write in private: after pairing, only `allowFrom`, everybody (`allowFrom: ["*"]` needed), no person. */
    dmPolicy: z.enum(['pairing', 'allowlist', 'open', 'disabled']).optional(),
    allowFrom: people.optional(),
    /** Which groups: those in `groups`, all, none. */
    groupPolicy: z.enum(['allowlist', 'open', 'disabled']).optional(),
    /** Who may write in groups; everybody in the group when absent. */
    groupAllowFrom: people.optional(),
    groups: z
      .record(
        z.string(),
        z.strictObject({
          enabled: z.boolean().optional(),
          requireMention: z.boolean().optional(),
          allowFrom: people.optional(),
        }),
      )
      .optional(),
    /** Messages that arrived while Rockpool was down are answered up to this age; older ones are only listed. */
    maxAgeMinutes: z.number().min(1).optional(),
  })
}

const webhook = z.strictObject({
  /** The public address that Telegram calls; your proxy passes it on to host and port. */
  url: z.url({ protocol: /^https?$/ }),
  secret: z.string().regex(/^[\w-]{16,256}$/, {
    error: 'needs 16 to 256 letters, digits, `_` or `-`; a blank secret lets anybody in',
  }),
  host: z.string().default('127.0.0.1'),
  port: z.number().int().min(0).max(65_535).default(8_787),
})

export type TelegramWebhook = z.infer<typeof webhook>

const telegramAccount = accountSettings('telegram').extend({
  botToken: z.string().optional(),
  tokenFile: z.string().optional(),
  /** Another Bot API server. */
  apiRoot: z.url().optional(),
  webhook: webhook.optional(),
  pollSeconds: z.number().min(0).max(50).optional(),
})

const discordAccount = accountSettings('discord').extend({
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  apiRoot: z.url().optional(),
})

const whatsappAccount = accountSettings('whatsapp').extend({ waWebSocketUrl: z.string().optional() })

const webAccount = accountSettings('web')

const accountName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)

export const channelsConfig = z
  .strictObject({
    /** People who own this Rockpool, `channel:id`. When empty, the first person whose pairing is approved owns it. */
    ownerAllowFrom: z.array(owner).default([]),
    /** How many messages of one person are accepted in a minute. */
    messagesPerMinute: z.number().min(1).default(20),
    /** The same for an owner: high enough for any person, low enough to stop a program that loops. */
    ownerMessagesPerMinute: z.number().min(1).default(300),
    telegram: telegramAccount
      .extend({ accounts: z.record(accountName, telegramAccount).optional() })
      .optional(),
    discord: discordAccount.extend({ accounts: z.record(accountName, discordAccount).optional() }).optional(),
    whatsapp: whatsappAccount
      .extend({ accounts: z.record(accountName, whatsappAccount).optional() })
      .optional(),
    web: webAccount.extend({ accounts: z.record(accountName, webAccount).optional() }).optional(),
  })
  .prefault({})

export type ChannelsConfig = z.infer<typeof channelsConfig>
export type AccountSettings = z.infer<typeof webAccount>

const id = z.union([z.string(), z.number()]).transform(String)

const match = z.strictObject({
  channel: z.enum(['telegram', 'discord', 'whatsapp', 'web', 'console']),
  /** Which of your accounts there: one by its name, `*` for all, the default one when absent. */
  accountId: z.string().optional(),
  /** One person in private, or one group; a thread as `<thread>`, a topic of Telegram as `<group>:topic:<topic>`. */
  peer: z.strictObject({ kind: z.enum(['direct', 'dm', 'group', 'channel']), id }).optional(),
  /** A server of Discord. */
  guildId: id.optional(),
  /** Roles on that server; one of them is enough. */
  roles: z.array(id).optional(),
})

/** In OpenClaw's form. */
export const bindingsConfig = z
  .array(z.strictObject({ agentId: z.string(), comment: z.string().optional(), match }))
  .default([])

export type Binding = z.infer<typeof bindingsConfig>[number]

/** A binding to an agent that is not configured would create an agent without workspace and name. */
export function checkBindings(
  config: { bindings: Binding[]; agents: { list: Array<{ id: string }> } },
  context: z.RefinementCtx,
): void {
  const known = config.agents.list.length > 0 ? config.agents.list.map((agent) => agent.id) : ['main']
  for (const [index, { agentId }] of config.bindings.entries()) {
    if (known.includes(agentId)) continue
    context.addIssue({
      code: 'custom',
      path: ['bindings', index, 'agentId'],
      message: `there is no agent ${JSON.stringify(agentId)}; agents.list has ${known.join(', ')}`,
    })
  }
}
