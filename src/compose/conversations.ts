// Constructs chat conversations: the channels, the access policy, the turns, and what a chat can use (coding sessions,
// approvals, the bridge).
import { join } from 'node:path'
import { defaultAgentId } from '../domain/session-key.ts'
import { TerminalChannel, WebChannel } from '../channels/web.ts'
import type { AccessPolicy } from '../domain/access.ts'
import { isTerminal, openclawChannel } from '../domain/address.ts'
import type { Address } from '../domain/address.ts'
import type { ChannelHost } from '../domain/channel.ts'
import type { Agent } from '../domain/agent.ts'
import {
  isOpenClawSetUp,
  makeChannelHost,
  openConfiguredChannel,
  openConfiguredChannels,
} from '../flow/channel-host.ts'
import { exchangeNotes, joinCluster } from '../flow/cluster-events.ts'
import { Conversations } from '../flow/conversations.ts'
import type { FlowParts } from '../flow/flow-parts.ts'
import { keepKeysMs } from '../flow/turn-recovery.ts'
import { makeReplyRouting } from '../flow/reply-routing.ts'
import { makeAccessPolicy } from '../inbound/admit.ts'
import { commandInfos } from '../inbound/command.ts'
import { ownerChats, readersOf } from '../rights/owners.ts'
import { stopOn } from '../operations/coding/machine-operations.ts'
import { purgeKept } from '../operations/vault/kept-sessions.ts'
import type { App } from '../operations/app.ts'
import { mirrorIntoChat } from '../operations/turns/mirror-into-chat.ts'
import type { People } from '../store/tables/pairing.ts'
import { removeMedia, moveToSession } from '../store/media/media-files.ts'
import { restoreAbandonedNotes } from '../store/notes/protected-notes.ts'
import { makeFolders } from '../store/disk/atomic-file.ts'
import { formatProcess, identifyProcess, isProcessAlive } from '../store/disk/process-identity.ts'
import { removeOldUploads } from '../store/media/uploads.ts'
import { attachWorkspaceFile } from '../store/media/outgoing-files.ts'
import { configuredAgent, requireAgent } from '../store/agents.ts'
import { askInChat, pressedButton } from '../chat/chat-approvals.ts'
import { commandForAnswer } from '../chat/chat-answers.ts'
import { chatTools } from '../chat/chat-tools.ts'
import { scheduleCommands } from '../chat/schedule-commands.ts'
import { codingCommands, commandToSay } from '../chat/coding-commands.ts'
import { codingCommandInfos } from '../operations/coding/command-words.ts'

/** A machine that was away for this long is removed from the list of machines. */
const keepMachinesMs = 30 * 24 * 3_600_000

/** Channels are opened only in the gateway; a command that takes one turn needs none. */
export async function openConversations(
  app: App,
  options: { withChannels: boolean },
): Promise<Conversations> {
  const pairing = app.storage.people
  await pairing.ready()
  if (options.withChannels && app.config.channels.ownerAllowFrom.length > 0)
    await pairing.noteConfiguredOwner()
  const leave = await joinCluster({
    ...app,
    async onPurged(sdkSessionIds) {
      await app.discovery().purge()
      await purgeKept(app, sdkSessionIds)
      await app.search().purge(sdkSessionIds)
    },
  })
  const access = makeAccessPolicy({
    config: () => app.config.channels,
    pairing,
    clock: app.clock,
    onStranger: ({ channel, accountId }) => app.events.emit({ type: 'pairing-changed', channel, accountId }),
  })
  const members = app.storage.cluster?.members
  const hold = members && ((name: string) => members.hold(name))
  const commands = [...commandInfos(), ...codingCommandInfos(), ...scheduleCommands(app)]
  const takesMedia: ChannelHost['takesMedia'] = (message) => conversations.converse.takesMedia(message)
  const host = { ...app, takesMedia, commands, hold }
  const channels = options.withChannels ? await openConfiguredChannels(host) : []
  const terminals = new TerminalChannel(makeChannelHost(host))
  for (const channel of [...channels, terminals]) {
    if (channel instanceof WebChannel)
      channel.onOutput((output) => app.events.emit({ type: 'web-output', output }))
  }
  const conversations: Conversations = new Conversations(
    {
      ...(await flowParts(app, access, pairing)),
      channelFor: (address) =>
        isTerminal(address)
          ? terminals
          : channels.find(
              ({ name, accountId }) => name === address.channel && accountId === address.accountId,
            ),
      makeChannel: (name, accountId) => openConfiguredChannel(host, name, accountId),
      leave,
      stopOn: (machine, ...which) => stopOn(app, machine, ...which),
      // Only for the gateway: a command that takes one turn ends before maintenance is due.
      chores: options.withChannels ? app.storage.cluster?.openChores() : undefined,
      askPermission: (session, address) => askInChat(app, () => conversations, session, address),
    },
    channels,
  )
  if (options.withChannels) followOpenClaw(app, conversations)
  return conversations
}

/** Opens the channel into OpenClaw when the plugin connects for the first time, and closes it when its tokens are removed. */
function followOpenClaw(app: App, conversations: Conversations): void {
  app.openclaw.onChange(() => {
    const isOpen = conversations.channels.some(({ name }) => name === openclawChannel)
    if (isOpen === isOpenClawSetUp(app.paths.root)) return
    conversations
      .reopenChannel(openclawChannel, 'default')
      .catch((error: unknown) =>
        app.log.error(
          { event: 'openclaw-channel-failed', error: String(error) },
          'Could not open the channel into OpenClaw; its chats get nothing until the gateway restarts.',
        ),
      )
  })
}

async function flowParts(
  app: App,
  access: AccessPolicy,
  pairing: People,
): Promise<Omit<FlowParts, 'channelFor' | 'askPermission'>> {
  const { config, clock, log, events, paths } = app
  const { storage } = app
  const readers = readersOf(() => app.config.channels, pairing)
  const runtime = await app.runtime()
  // Claude's processes of an earlier start have ended by now, so nothing overwrites restored notes.
  await restoreAbandonedNotes(paths.noteCopies, log)
  return {
    config,
    clock,
    log,
    events,
    access,
    work: storage.work,
    sessions: storage.sessions,
    transcripts: storage.transcripts,
    runtime,
    defaultAgentId: () => defaultAgentId(config),
    agentOf: (agentId) => readyAgent(app, agentId),
    noteCopies: paths.noteCopies,
    self: formatProcess(identifyProcess(process.pid)!),
    // In a cluster the database decides which owner is alive.
    isAlive: (owner) => storage.cluster !== undefined || isProcessAlive(owner),
    ...readers,
    toolsFor: chatTools(app),
    commands: [...codingCommands(app), ...scheduleCommands(app)],
    onButton: (message, owner) => pressedButton(app, message, owner),
    ...answerParts(app, readers.isOwners),
    ownerChats: () => ownerChats(config.channels, pairing),
    mirror: (delivery) => mirrorIntoChat(app, delivery),
    tidy: {
      async shared() {
        await storage.replyMap.forget(clock.now())
        await storage.media.forget(clock.now() - keepKeysMs)
        await storage.cluster?.forgetMachines(clock.now() - keepMachinesMs)
      },
      async own() {
        // Remove uploaded files whose message never arrived.
        await removeOldUploads(join(paths.media, 'inbound'), clock.now())
      },
    },
    ...fileParts(app),
    notes: exchangeNotes(storage.notes, log),
  }
}

/** Routes people's replies to our messages, and their answers to questions of coding sessions. */
function answerParts(
  app: App,
  isOwners: (address: Address) => boolean,
): Pick<FlowParts, 'onSent' | 'routeReply' | 'replyCommand'> {
  const { sessions, transcripts, replyMap } = app.storage
  const codingCommand = (codingId: string, text: string): string => commandToSay(app, codingId, text)
  const replies = makeReplyRouting({
    ...app,
    sessions,
    transcripts,
    replies: replyMap,
    codingCommand,
    isOwners,
  })
  return {
    onSent: replies.onSent,
    routeReply: (message) => replies.routeReply(message),
    async replyCommand(message) {
      const answer = await commandForAnswer(app, isOwners, message, await replies.answered(message))
      return answer ?? (await replies.replyCommand(message))
    },
  }
}

/** The files of messages and replies, available on each machine of a cluster. */
function fileParts(app: App): Pick<FlowParts, 'files' | 'attach'> {
  const { paths, storage } = app
  return {
    files: {
      async give(session, media) {
        const given = await moveToSession(paths.media, session, media)
        for (const { path } of given) await storage.media.give(path)
        return given
      },
      bring: (all) => Promise.all(all.map((path) => storage.media.bring(path))),
      drop: removeMedia,
    },
    async attach(session, path, from) {
      const attached = await attachWorkspaceFile(paths.media, from, path, session)
      if ('path' in attached) await storage.media.give(attached.path)
      return attached
    },
  }
}

/** Creates the agent's workspace before a turn needs it. Refuses an agent that does not exist: its turn would create it. */
function readyAgent(app: App, agentId: string): Agent {
  // On a shared database another machine may have accepted the message, for an agent that only that machine has.
  if (!app.storage.cluster) requireAgent(app, agentId)
  const agent = configuredAgent(app.config, app.paths, agentId)
  makeFolders(agent.workspace)
  return agent
}
