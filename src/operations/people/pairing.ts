// Pairing: people who ask for permission to write, and people who have it.
import { z } from 'zod'
import { accountsOf, platforms } from '../../domain/config/read-settings.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { isAllowed, standingOf, standings } from '../../rights/owners.ts'
import type { Standing } from '../../rights/owners.ts'
import type { PersonRef } from '../../store/tables/pairing.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { endAccess } from './end-access.ts'
import type { EndedAccess } from './end-access.ts'

const request = z.object({
  code: z.string(),
  channel: z.string(),
  accountId: z.string(),
  senderId: z.string(),
  name: z.string().optional(),
  askedAt: z.number(),
  expiresAt: z.number(),
})

const person = z.object({
  channel: z.string(),
  accountId: z.string(),
  senderId: z.string(),
  name: z.string().optional(),
  owner: z.boolean(),
  approvedAt: z.number(),
})

const standing = z
  .enum(standings)
  .describe('What the person may do now, by the pairing and the configuration together.')

const nothingEnded: EndedAccess = { turns: 0, messages: 0, schedules: [], streams: [] }

/** Does the next approval by the operator make an owner? */
export async function nextOneOwns({ config, storage }: App): Promise<boolean> {
  return config.channels.ownerAllowFrom.length === 0 && storage.people.firstOwns()
}

const code = z.string().min(1).describe('The code that the person got.')

export const operations = [
  operation({
    name: 'pairing.list',
    description: 'List pairing requests, and the people who may write.',
    input: z.strictObject({}),
    output: z.object({
      pending: z.array(request),
      people: z
        .array(person.extend({ standing }))
        .describe('A pairing counts only while `dmPolicy` is `pairing`.'),
      full: z
        .array(z.object({ channel: z.string(), accountId: z.string(), until: z.number() }))
        .describe('Accounts that accept no further request until then, because too many wait.'),
      firstOwns: z.boolean().describe('The next person who is approved becomes the owner.'),
    }),
    scope: 'admin',
    command: { examples: ['rockpool pairing list'] },
    async run(app) {
      const pairing = app.storage.people
      const [pending, people, full] = await Promise.all([pairing.pending(), pairing.people(), pairing.full()])
      const rows = people.map((one) => {
        const holds = standingOf(one, app.config.channels, { find: () => one })
        return { ...one, owner: holds === 'owner', standing: holds }
      })
      return { pending, people: rows, full, firstOwns: await nextOneOwns(app) }
    },
  }),
  operation({
    name: 'pairing.approve',
    description: 'Approve a pairing request.',
    input: z.strictObject({
      code,
      owner: z
        .boolean()
        .default(false)
        .describe(
          'Make the person an owner. Without this option only the first approved person becomes one, if no owner is or was configured.',
        ),
    }),
    output: z.object({ person }),
    scope: 'admin',
    changesState: true,
    command: {
      positional: ['code'],
      examples: ['rockpool pairing approve ABCD2345', 'rockpool pairing approve ABCD2345 --owner'],
    },
    async run(app, input, caller) {
      // Only the person at the machine or with the admin token can make an owner, never an agent or a chat.
      const isOperator = (caller.via === 'cli' || caller.via === 'rpc') && caller.agentId === undefined
      // If the configuration names owners, the approval of a guest must not make another one.
      const mayMakeOwner = isOperator && app.config.channels.ownerAllowFrom.length === 0
      if (input.owner && !isOperator)
        throw new RockpoolError('refused', 'Only the operator can make an owner.', {
          hint: '`rockpool pairing approve <code> --owner` at the machine.',
        })
      const options = { mayMakeOwner, asOwner: input.owner }
      return { person: await app.storage.people.approve(input.code, options) }
    },
  }),
  operation({
    name: 'pairing.deny',
    description: 'Deny a pairing request.',
    input: z.strictObject({ code }),
    output: z.object({ request }),
    scope: 'admin',
    changesState: true,
    command: { positional: ['code'], examples: ['rockpool pairing deny ABCD2345'] },
    run: async (app, input) => ({ request: await app.storage.people.deny(input.code) }),
  }),
  operation({
    name: 'pairing.remove',
    description: 'Revoke the permission of a person to write.',
    input: z.strictObject({
      channel: z.string().describe('The platform.'),
      senderId: z.string().describe('Their id there.'),
      accountId: z.string().default('default').describe('Which of your accounts.'),
    }),
    output: z.object({
      removed: z.boolean(),
      standing,
      elsewhere: z
        .array(z.object({ accountId: z.string(), standing }))
        .describe('Your other accounts on the platform through which the person may still write.'),
      ended: z
        .object({
          turns: z.number().describe('Running turns that were stopped.'),
          messages: z.number().describe('Waiting messages that get no turn.'),
          schedules: z.array(z.string()).describe('Schedules of the chat that are paused now.'),
          streams: z.array(z.string()).describe('Coding sessions whose output no longer goes to the chat.'),
        })
        .describe('What was stopped with it.'),
    }),
    scope: 'admin',
    changesState: true,
    destructive: true,
    command: {
      positional: ['channel', 'senderId'],
      flags: { accountId: 'account' },
      confirmIfFound: ({ channel, senderId, accountId = 'default' }) => ({
        name: 'pairing.list',
        isFound: ({ people }) =>
          (people as Array<z.infer<typeof person>>).some(
            (one) => one.channel === channel && one.senderId === senderId && one.accountId === accountId,
          ),
      }),
      examples: ['rockpool pairing remove telegram 123456789'],
    },
    async run(app, input) {
      const { people } = app.storage
      await people.ready()
      const before = standingOf(input, app.config.channels, people)
      if (await people.remove(input)) {
        const after = standingOf(input, app.config.channels, people)
        return {
          removed: true,
          standing: after,
          elsewhere: standingElsewhere(app, input),
          ended: after === before ? nothingEnded : await endAccess(app, input),
        }
      }
      const { channel, senderId, accountId } = input
      throw new RockpoolError('not-found', `${senderId} has no pairing on ${channel} (${accountId}).`, {
        hint: '`rockpool pairing list` shows who may write; people of `allowFrom` are in the configuration.',
      })
    },
  }),
]

/** Where else the person may write: accounts of the configuration, and accounts with a pairing. */
function standingElsewhere(
  { config: { channels }, storage: { people } }: App,
  { channel, accountId: here, senderId }: PersonRef,
): Array<{ accountId: string; standing: Standing }> {
  const platform = platforms.find((name) => name === channel)
  const configured = platform ? accountsOf(channels, platform) : []
  const paired = people.known().filter((one) => one.channel === channel && one.senderId === senderId)
  return [...new Set([...configured, ...paired].map(({ accountId }) => accountId))]
    .filter((accountId) => accountId !== here)
    .map((accountId) => ({
      accountId,
      standing: standingOf({ channel, accountId, senderId }, channels, people),
    }))
    .filter((one) => isAllowed(one.standing))
}
