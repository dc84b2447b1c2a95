// Puts the way of a message together: the channels, who may talk, the turns, and what lies above them (coding sessions
// in a chat, approvals, the bridge).
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { defaultAgentId, sessionKeyOf } from '../domain/session-key.ts'
import { makeBridge } from '../discovery/bridge.ts'
import type { Bridge } from '../discovery/bridge.ts'
import { TerminalChannel, WebChannel } from '../channels/web.ts'
import type { AccessPolicy } from '../domain/access.ts'
import { isTerminal, privateChatWith } from '../domain/address.ts'
import type { Address } from '../domain/address.ts'
import type { Agent, ToolServer } from '../domain/agent.ts'
import type { BridgeWorld } from '../domain/bridge.ts'
import type { Config } from '../domain/config.ts'
import type { Message } from '../domain/message.ts'
import type { Session } from '../domain/session.ts'
import { makeChannelHost, openConfiguredChannel, openConfiguredChannels } from '../flow/channel-host.ts'
import { Conversations } from '../flow/conversations.ts'
import type { FlowParts } from '../flow/flow-parts.ts'
import { keepKeysMs } from '../flow/turn-recovery.ts'
import { makeReplyRouting } from '../flow/reply-routing.ts'
import { makeAccessPolicy } from '../inbound/access.ts'
import { boundAgent } from '../inbound/bindings.ts'
import { commandInfos } from '../inbound/command.ts'
import type { App } from '../operations/app.ts'
import { bridgeWorld } from '../operations/cc/bridge-world.ts'
import { mirrorIntoChat } from '../operations/turns/mirror-into-chat.ts'
import { isShared } from '../rights/rights.ts'
import type { Rights } from '../rights/rights.ts'
import type { People } from '../store/sqlite/people.ts'
import { dropMedia, giveToSession } from '../store/media/media-files.ts'
import { restoreAbandoned } from '../store/notes/kept-notes.ts'
import { identifyProcess, isSameProcess } from '../store/disk/process-identity.ts'
import type { ProcessIdentity } from '../store/disk/process-identity.ts'
import { forgetUploads } from '../store/media/uploads.ts'
import { attachWorkspaceFile } from '../store/media/workspace-attachment.ts'
import { agentFrom } from './configured-agents.ts'
import {
  answerByReply,
  answerInWords,
  askedBefore,
  namedIn,
  askInChat,
  openInChat,
  pressedButton,
} from '../chat/chat-approvals.ts'
import { ChatTalk } from '../chat/chat-talk.ts'
import { chatTools, isOwnersChat } from '../chat/chat-tools.ts'
import { codingCommandInfos, codingCommands, commandToSay } from '../chat/coding-commands.ts'
import { joinOthers, sharedNotes } from './shared-events.ts'

/** A machine that was away for so long is not named any more. */
const keepMachinesMs = 30 * 24 * 3_600_000

/** With its channels only in the gateway; a command that takes one turn needs none. */
export async function openConversations(
  app: App,
  options: { withChannels: boolean },
): Promise<Conversations> {
  const pairing = app.storage.people
  await pairing.ready()
  const leave = await joinOthers(app)
  const access = makeAccessPolicy({
    config: () => app.config.channels,
    pairing,
    clock: app.clock,
    onStranger: ({ channel, accountId }) => app.events.emit({ type: 'pairing-changed', channel, accountId }),
  })
  const members = app.storage.cluster?.members
  const hold = members && ((name: string) => members.hold(name))
  const commands = [...commandInfos(), ...codingCommandInfos()]
  const host = { ...app, access, commands, hold }
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
      // A command that takes one turn ends before maintenance is due.
      chores: options.withChannels ? app.storage.cluster?.openChores() : undefined,
      askPermission: (session, address) => askInChat(app, () => conversations, session, address),
    },
    channels,
  )
  return conversations
}

async function flowParts(
  app: App,
  access: AccessPolicy,
  pairing: People,
): Promise<Omit<FlowParts, 'channelFor' | 'askPermission'>> {
  const { config, clock, log, events, paths } = app
  const ownTools = await chatTools(app)
  const bridge = makeBridge()
  const { storage } = app
  const isOwners = (address: Address): boolean => isOwnersChat(app, pairing, address)
  const runtime = await app.runtime()
  // Claude's processes of before have ended by now: nothing overwrites what is put back.
  await restoreAbandoned(paths.noteCopies, log)
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
    self: ownerText(identifyProcess(process.pid)!),
    // Where machines share the work, the database decides who lives.
    isAlive: (owner) => storage.cluster !== undefined || isAlive(owner),
    isOwners,
    toolsFor: (session, address, rights) => [
      ...bridgeFor(app, bridge, session, rights),
      ...(rights.ownTools === 'none' ? [] : [ownTools(session, address, rights)]),
    ],
    commands: codingCommands(app),
    onButton: (message, owner) => pressedButton(app, message, owner),
    ...answerParts(app, isOwners),
    ownerChats: () => ownerChats(config, pairing),
    mirror: (delivery) => mirrorIntoChat(app, delivery),
    tidy: {
      async shared() {
        await storage.replyMap.forget(clock.now())
        await storage.media.forget(clock.now() - keepKeysMs)
        await storage.cluster?.forgetMachines(clock.now() - keepMachinesMs)
      },
      async own() {
        // Files whose message was lost on its way here.
        await forgetUploads(join(paths.media, 'inbound'), clock.now())
      },
    },
    ...fileParts(app),
    ...sharedNotes(app),
  }
}

/** What becomes of an answer to something that we said. */
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
  const talk = new ChatTalk(app.clock, isOwners)
  return {
    onSent: (delivery, messageIds) => {
      talk.sent(delivery)
      return replies.onSent(delivery, messageIds)
    },
    routeReply: (message) => replies.routeReply(message),
    async replyCommand(message) {
      const words = wordsForAnswer(app, { isOwners, talk }, message, await replies.codingAnswered(message))
      talk.heard(message)
      return words ?? (await replies.replyCommand(message))
    },
  }
}

/** Files come and go with messages. Where machines share the work each has them when it needs them. */
function fileParts(app: App): Pick<FlowParts, 'files' | 'attach'> {
  const { paths, storage } = app
  return {
    files: {
      async give(session, media) {
        const given = await giveToSession(paths.media, session, media)
        for (const { path } of given) await storage.media.give(path)
        return given
      },
      bring: (all) => Promise.all(all.map((path) => storage.media.bring(path))),
      drop: dropMedia,
    },
    async attach(session, path, from) {
      const attached = await attachWorkspaceFile(paths.media, from, path, session)
      if ('path' in attached) await storage.media.give(attached.path)
      return attached
    },
  }
}

/** Where the owners are reached in private: those of the configuration, and those who were let in as owners. */
function ownerChats(config: Config, pairing: People): Address[] {
  const listed = config.channels.ownerAllowFrom.map((owner) => {
    const [channel = '', ...id] = owner.split(':')
    return { channel, accountId: 'default', senderId: id.join(':') }
  })
  return [...listed, ...pairing.known().filter(({ owner }) => owner)].map((person) => privateChatWith(person))
}

/** Only the owner's words answer, and only in private: in a group others read along. Plain words answer the question that
 *  they are a reply to, or after which nothing else was said; else they are meant for something else. */
function wordsForAnswer(
  app: App,
  { isOwners, talk }: { isOwners: (address: Address) => boolean; talk: ChatTalk },
  message: Message,
  codingId: string | undefined,
): string | undefined {
  const { address, replyTo, text } = message
  if (message.event !== 'message' || message.chatType !== 'direct' || !isOwners(address)) return undefined
  const agentId = boundAgent(message, app.config.bindings) ?? defaultAgentId(app.config)
  const key = sessionKeyOf(message, agentId, app.config.session)
  const open = askedBefore(openInChat(app, address, key), message.sentAt)
  if (codingId !== undefined) {
    const ofSession = open.filter((approval) => approval.codingId === codingId)
    return answerByReply(ofSession, text)
  }
  if (replyTo?.text !== undefined) return answerInWords(namedIn(open, replyTo.text), text)
  const lastSaidAt = Math.max(talk.lastSaidAt(address), app.startedAt)
  return answerInWords(
    open.filter(({ askedAt }) => askedAt >= lastSaidAt),
    text,
  )
}

/** An agent's workspace is there before a turn needs it. */
function readyAgent(app: App, agentId: string): Agent {
  const agent = agentFrom(app.config, app.paths, agentId)
  mkdirSync(agent.workspace, { recursive: true, mode: 0o700 })
  return agent
}

function bridgeFor(app: App, bridge: Bridge, { agentId, key }: Session, rights: Rights): ToolServer[] {
  const repoPath = agentFrom(app.config, app.paths, agentId).workspace
  const world = bridgeWorld(app, { agentId, repoPath, sessionKey: key })
  const isWhole = rights.files === 'workspace'
  const server = bridge(isWhole ? world : sharedWorld(world, rights), app.config.mcpBridge)
  const tools = server?.tools.filter(({ name }) => rights.bridgeTools.some((open) => open === name)) ?? []
  return server && tools.length > 0 ? [{ ...server, tools }] : []
}

/** Everybody's notes are in one folder: whoever is not the owner finds what the owner shares. */
function sharedWorld(world: BridgeWorld, { sharedFiles }: Rights): BridgeWorld {
  return {
    ...world,
    searchMemory: async (query) =>
      sharedFiles.length === 0
        ? []
        : (await world.searchMemory(query, moreHits)).filter(({ source }) => isShared(source, sharedFiles)),
  }
}

/** So many hits are looked through for shared ones. */
const moreHits = 200

/** One line that says which process it is, for rows that outlive it. */
function ownerText({ pid, startTime, domain }: ProcessIdentity): string {
  return [pid, startTime, domain].join(' ')
}

function isAlive(owner: string): boolean {
  const [pid, startTime = '', ...domain] = owner.split(' ')
  return isSameProcess({ pid: Number(pid), startTime, domain: domain.join(' ') })
}
