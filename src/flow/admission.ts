// Admits messages: who may write, which session a message belongs to, and what needs no turn (a refusal, a group message that
// does not address the agent, an edit, a button).
import { randomUUID } from 'node:crypto'
import type { Access } from '../domain/access.ts'
import { chatKey } from '../domain/address.ts'
import type { Message } from '../domain/message.ts'
import type { Reply } from '../domain/reply.ts'
import { sessionKeyOf } from '../domain/session-key.ts'
import { admit, messageKey } from '../inbound/admit.ts'
import type { GroupActivation, Verdict } from '../inbound/admit.ts'
import { boundAgent } from '../inbound/bindings.ts'
import { MAX_HISTORY_KEYS } from '../inbound/prompt-context.ts'
import type { MentionRules } from '../inbound/mentions.ts'
import { compileMentionPatterns } from '../inbound/mentions.ts'
import type { Deliverer } from '../replies/deliver.ts'
import type { Input, WaitingInput } from '../store/work-store.ts'
import { noticeFor } from '../domain/reply.ts'
import type { FlowParts } from './flow-parts.ts'
import { historyKeyOf, overheardEntry } from './prompt.ts'
import type { TurnQueue } from './turn-queue.ts'
import { inputsToAskAgain } from './turn-recovery.ts'
import { requestedAgain } from './undelivered.ts'

/** An edit or a button: most actions need no turn. */
export function isAction(message: Message): boolean {
  return message.event === 'edit' || message.button !== undefined
}

type Accepted = Extract<Verdict, { kind: 'accepted' }>

type Compiled = ReturnType<typeof compileMentionPatterns>

export class Admission {
  #parts: FlowParts
  #queue: TurnQueue
  #deliverer: Deliverer
  #ask: (input: Input) => Promise<boolean>
  #mentionPatterns: { sources: string[]; compiled: Compiled } | undefined

  /** `ask`: enqueues a turn; false if the same key was enqueued before. */
  constructor(
    parts: FlowParts,
    {
      queue,
      deliverer,
      ask,
    }: { queue: TurnQueue; deliverer: Deliverer; ask: (input: Input) => Promise<boolean> },
  ) {
    this.#parts = parts
    this.#queue = queue
    this.#deliverer = deliverer
    this.#ask = ask
    // An invalid pattern is an error at the start, not at the first message.
    this.#patterns()
  }

  async judge(message: Message): Promise<Verdict> {
    return this.#judge(message, await this.#parts.access.check(message))
  }

  /** Would this message get a turn with a file of its own? Asked before the file is fetched; it has no effect. */
  async takesMedia(message: Message): Promise<boolean> {
    const verdict = await this.#judge(message, this.#parts.access.decide(message), true)
    return verdict.kind === 'accepted'
  }

  async #judge(message: Message, access: Access, hasFiles?: boolean): Promise<Verdict> {
    // For a refused sender the session is not looked up.
    const general = this.#parts.config.messages.groupChat.activation
    const needsSession = access.kind !== 'refused' && message.chatType !== 'direct'
    const activation = needsSession ? await this.#activation(message, general) : { config: general }
    return admit(message, access, activation, this.mentionsFor(message), hasFiles)
  }

  /** Handles a message that gets no turn: keeps it as context, or tells the sender why it was refused. */
  async turnDown(message: Message, verdict: Exclude<Verdict, Accepted>): Promise<void> {
    if (verdict.kind === 'overheard') await this.#keepAsContext(message)
    if (verdict.kind === 'refused') await this.#refuse(message, verdict)
    await this.dropFiles(message)
  }

  /** The session of an accepted message, and the message as the inbox stores it: as the command that it stands for, with its
   *  files in the folder of the session. */
  async place(message: Message): Promise<{ agentId: string; lane: string; accepted: Message }> {
    const { agentId, lane } = message.replyTo ? await this.#routeReply(message) : this.routeByChat(message)
    const asked = this.#parts.replyCommand ? await this.asCommand(message) : message
    const accepted = asked.media.length > 0 ? await this.#withFiles(asked, agentId, lane) : asked
    return { agentId, lane, accepted }
  }

  async #withFiles(message: Message, agentId: string, lane: string): Promise<Message> {
    const { files } = this.#parts
    return files ? { ...message, media: await files.give({ agentId, key: lane }, message.media) } : message
  }

  async dropFiles(message: Message): Promise<void> {
    if (message.media.length > 0) await this.#parts.files?.drop(message.media)
  }

  /** Handles an action. True: it is done. False: the edit is a new message. */
  async needsNoTurn(message: Message, { owner }: Accepted): Promise<boolean> {
    if (message.event === 'edit') return this.#edited(message)
    const reply =
      (await this.#sendAgain(message)) ??
      (await this.#askAgain(message)) ??
      (await this.#parts.onButton?.(message, owner))
    const channel = this.#parts.channelFor(message.address)
    await channel?.acknowledgeButton?.(message, reply?.text ?? 'This button is no longer in use.')
    return true
  }

  /** A reply belongs to the session of the message that it answers. */
  async #routeReply(message: Message): Promise<{ agentId: string; lane: string }> {
    const routed = await this.#parts.routeReply?.(message)
    return routed ? { agentId: routed.agentId, lane: routed.sessionKey } : this.routeByChat(message)
  }

  routeByChat(message: Message): { agentId: string; lane: string } {
    const { config } = this.#parts
    const agentId = boundAgent(message, config.bindings) ?? this.#parts.defaultAgentId()
    return { agentId, lane: sessionKeyOf(message, agentId, config.session) }
  }

  /** A reply to one of our notices may stand for a command. */
  async asCommand(message: Message): Promise<Message> {
    const command = message.forwarded ? undefined : await this.#parts.replyCommand?.(message)
    return command === undefined ? message : { ...message, text: command, event: 'command' }
  }

  /** In a direct chat nothing is a mention. */
  mentionsFor(message: Message): MentionRules {
    if (message.chatType === 'direct') return {}
    const identity = this.#parts.channelFor(message.address)?.status().identity
    return { names: identity ? [identity.name] : [], patterns: this.#patterns() }
  }

  /** Compiled again after a reload of the configuration. */
  #patterns(): Compiled {
    const { mentionPatterns: sources } = this.#parts.config.messages.groupChat
    if (this.#mentionPatterns?.sources !== sources)
      this.#mentionPatterns = { sources, compiled: compileMentionPatterns(sources) }
    return this.#mentionPatterns.compiled
  }

  /** Ends inputs for which the queue had no room. Their senders get a notice, unless the agent gets a summary. */
  async drop(inputs: WaitingInput[], isSummarized: boolean): Promise<void> {
    const { work, clock } = this.#parts
    const ids = inputs.map((input) => input.id)
    // Several chats may share a session.
    const byChat = [...Map.groupBy(inputs, ({ message }) => chatKey(message.address)).values()]
    const notices = byChat.map((some) => {
      const text =
        some.length === 1
          ? 'A message was not taken: too many wait for me. Please send it again later.'
          : `${some.length} messages were not taken: too many wait for me. Please send them again later.`
      return noticeFor(some[0]!.message.address, text, `dropped:${randomUUID()}`, clock.now())
    })
    this.#deliverer.add(await work.inbox.end(ids, 'dropped', isSummarized ? [] : notices))
  }

  async #sendAgain(message: Message): Promise<Reply | undefined> {
    const { work, clock } = this.#parts
    const again = await requestedAgain(message, work.outbox, clock.now())
    if (!again) return undefined
    await this.#deliverer.deliver([again])
    return { text: 'Sent again.' }
  }

  /** Messages that were given up get another turn. */
  async #askAgain(message: Message): Promise<Reply | undefined> {
    const inputs = await inputsToAskAgain(message, this.#parts.work.inbox)
    if (!inputs) return undefined
    let count = 0
    for (const input of inputs) count += Number(await this.#ask(input))
    return { text: count > 0 ? 'Trying again.' : 'I have tried this again already, or it is too old.' }
  }

  async #activation(message: Message, config: GroupActivation['config']): Promise<GroupActivation> {
    const { agentId, lane } = message.replyTo ? await this.#routeReply(message) : this.routeByChat(message)
    const session = (await this.#parts.sessions(agentId).get(lane))?.groupActivation
    return { config, session }
  }

  async #refuse(message: Message, { reason, say }: { reason: string; say?: string }): Promise<void> {
    const { channel, to: chat } = message.address
    this.#parts.log.info({ event: 'message-refused', channel, chat, reason }, 'Refused a message.')
    if (say === undefined) return
    const key = `refused:${messageKey(message)}`
    const notice = noticeFor(message.address, say, key, this.#parts.clock.now())
    // The agent did not get the message, so its transcript has no part of the exchange: a pairing code is not for the agent.
    await this.#deliverer.deliver([{ ...notice, forAnybody: true, mirror: false }])
  }

  async #keepAsContext(message: Message): Promise<void> {
    const { work, config } = this.#parts
    const entry = overheardEntry(message)
    await work.overheard.add(historyKeyOf(message), messageKey(message), entry, {
      entries: config.messages.groupChat.historyLimit,
      groups: MAX_HISTORY_KEYS,
    })
  }

  /** Replaces a message that still waits. An answered message is not answered again. False: the edit is a new message. */
  async #edited(message: Message): Promise<boolean> {
    if (message.about === undefined) return false
    const { inbox } = this.#parts.work
    const key = messageKey({ ...message, id: message.about })
    if (!(await inbox.knows(key))) return false
    const waiting = (await inbox.waiting()).find((input) => input.key === key)
    // People may change only their own messages; the id in the edit may name any message.
    if (waiting?.message.sender.id !== message.sender.id) {
      await this.dropFiles(message)
      return true
    }
    const { agentId, lane } = waiting
    const own = message.media.length > 0 ? await this.#withFiles(message, agentId, lane) : message
    const edited: Message = { ...own, id: message.about, event: 'message' }
    if (await inbox.replace(key, edited)) this.#queue.replace({ ...waiting, message: edited })
    return true
  }
}
