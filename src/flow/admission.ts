// Step one: the door. Who is let in, whose message it is, and what needs no turn: a refusal, what was only overheard, an
// edit, a button.
import { randomUUID } from 'node:crypto'
import type { Message } from '../domain/message.ts'
import type { Reply } from '../domain/reply.ts'
import { sessionKeyOf } from '../domain/session-key.ts'
import { admit } from '../inbound/admit.ts'
import type { GroupActivation, Verdict } from '../inbound/admit.ts'
import { boundAgent } from '../inbound/bindings.ts'
import { messageKey } from '../inbound/dedupe.ts'
import { MAX_HISTORY_KEYS } from '../inbound/group-history.ts'
import type { MentionRules } from '../inbound/mentions.ts'
import { compileMentionPatterns } from '../inbound/mentions.ts'
import type { Deliverer } from '../replies/deliver.ts'
import type { WaitingInput } from '../store/work-store.ts'
import { noticeFor } from './deliveries.ts'
import type { FlowParts } from './flow-parts.ts'
import { historyKeyOf, overheardEntry } from './prompt.ts'
import type { TurnQueue } from './turn-queue.ts'
import { wantedAgain } from './undelivered.ts'

type Accepted = Extract<Verdict, { kind: 'accepted' }>

type Compiled = ReturnType<typeof compileMentionPatterns>

export class Door {
  #parts: FlowParts
  #queue: TurnQueue
  #deliverer: Deliverer
  #mentionPatterns: { sources: string[]; compiled: Compiled } | undefined

  constructor(parts: FlowParts, queue: TurnQueue, deliverer: Deliverer) {
    this.#parts = parts
    this.#queue = queue
    this.#deliverer = deliverer
    // A pattern that cannot be used is an error at the start, not with the first message.
    this.#patterns()
  }

  async judge(message: Message): Promise<Verdict> {
    const access = await this.#parts.access.check(message)
    // Nothing is looked up for somebody who is refused.
    const general = this.#parts.config.messages.groupChat.activation
    const activation =
      access.kind === 'refused' ? { config: general } : await this.#activation(message, general)
    return admit(message, access, activation, this.mentionsFor(message))
  }

  /** What becomes of a message that is not taken in. */
  async answer(message: Message, verdict: Exclude<Verdict, Accepted>): Promise<void> {
    if (verdict.kind === 'overheard') await this.#overhear(message)
    if (verdict.kind === 'refused') await this.#refuse(message, verdict)
    await this.dropFiles(message)
  }

  /** The message with its files where its session's files are. */
  async withFiles(message: Message, agentId: string, lane: string): Promise<Message> {
    const { files } = this.#parts
    if (!files || message.media.length === 0) return message
    return { ...message, media: await files.give({ agentId, key: lane }, message.media) }
  }

  async dropFiles(message: Message): Promise<void> {
    if (message.media.length > 0) await this.#parts.files?.drop(message.media)
  }

  /** Edits and buttons are dealt with here. */
  async needsNoTurn(message: Message, { owner }: Accepted): Promise<boolean> {
    if (message.event === 'edit') return this.#edited(message)
    if (!message.button) return false
    const reply = (await this.#sayAgain(message)) ?? (await this.#parts.onButton?.(message, owner))
    const channel = this.#parts.channelFor(message.address)
    await channel?.acknowledgeButton?.(message, reply?.text ?? 'This button is no longer in use.')
    return true
  }

  /** Whose message it is: an answer belongs to the session of what it answers, everything else to its chat's. */
  async route(message: Message): Promise<{ agentId: string; lane: string }> {
    const { config, routeReply } = this.#parts
    const routed = message.replyTo && (await routeReply?.(message))
    if (routed) return { agentId: routed.agentId, lane: routed.sessionKey }
    const agentId = boundAgent(message, config.bindings) ?? this.#parts.defaultAgentId()
    return { agentId, lane: sessionKeyOf(message, agentId, config.session) }
  }

  /** An answer to a notice may be meant as a command. */
  async meant(message: Message): Promise<Message> {
    const command = message.forwarded ? undefined : await this.#parts.replyCommand?.(message)
    return command === undefined ? message : { ...message, text: command, event: 'command' }
  }

  mentionsFor(message: Message): MentionRules {
    const identity = this.#parts.channelFor(message.address)?.status().identity
    return { names: identity ? [identity.name] : [], patterns: this.#patterns() }
  }

  /** Compiled again when a reload has replaced the list. */
  #patterns(): Compiled {
    const { mentionPatterns: sources } = this.#parts.config.messages.groupChat
    if (this.#mentionPatterns?.sources !== sources)
      this.#mentionPatterns = { sources, compiled: compileMentionPatterns(sources) }
    return this.#mentionPatterns.compiled
  }

  /** Messages for which there was no room in the queue. Their senders are told, unless the agent hears of them. */
  async turnAway(inputs: WaitingInput[], told: boolean): Promise<void> {
    const { work, clock } = this.#parts
    const last = inputs.at(-1)
    if (!last) return
    const count = inputs.length === 1 ? 'A message was' : `${inputs.length} messages were`
    const text = `${count} not taken: too many wait for me. Please send it again later.`
    const notice = noticeFor(last.message.address, text, `dropped:${randomUUID()}`, clock.now())
    const ids = inputs.map((input) => input.id)
    this.#deliverer.add(await work.inbox.end(ids, 'dropped', told ? [] : [notice]))
  }

  async #sayAgain(message: Message): Promise<Reply | undefined> {
    const { work, clock } = this.#parts
    const again = await wantedAgain(message, work.outbox, clock.now())
    if (!again) return undefined
    await this.#deliverer.deliver([again])
    return { text: 'Sent again.' }
  }

  async #activation(message: Message, config: GroupActivation['config']): Promise<GroupActivation> {
    if (message.chatType === 'direct') return { config }
    const { agentId, lane } = await this.route(message)
    const session = (await this.#parts.sessions(agentId).get(lane))?.groupActivation
    return { config, ...(session === undefined ? {} : { session }) }
  }

  async #refuse(message: Message, { reason, say }: { reason: string; say?: string }): Promise<void> {
    const { channel, to: chat } = message.address
    this.#parts.log.info({ event: 'message-refused', channel, chat, reason }, 'Refused a message.')
    if (say === undefined) return
    const key = `refused:${messageKey(message)}`
    await this.#deliverer.deliver([noticeFor(message.address, say, key, this.#parts.clock.now())])
  }

  async #overhear(message: Message): Promise<void> {
    const { work, config } = this.#parts
    const entry = overheardEntry(message)
    await work.overheard.add(historyKeyOf(message), messageKey(message), entry, {
      entries: config.messages.groupChat.historyLimit,
      groups: MAX_HISTORY_KEYS,
    })
  }

  /** An edit counts if the message still waits. One that was answered is not answered again. True: it is dealt with. */
  async #edited(message: Message): Promise<boolean> {
    if (message.about === undefined) return false
    const { inbox } = this.#parts.work
    const key = messageKey({ ...message, id: message.about })
    if (!(await inbox.knows(key))) return false
    const waiting = (await inbox.waiting()).find((input) => input.key === key)
    // Nobody puts words into another's mouth, whatever id an edit claims to be about.
    if (waiting?.message.sender.id !== message.sender.id) {
      await this.dropFiles(message)
      return true
    }
    const own = await this.withFiles(message, waiting.agentId, waiting.lane)
    const edited: Message = { ...own, id: message.about, event: 'message' }
    if (await inbox.replace(key, edited)) this.#queue.replace({ ...waiting, message: edited })
    return true
  }
}
