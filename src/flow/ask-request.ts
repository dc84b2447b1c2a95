// What a program or a person at a terminal asks, as the input that the way of a message takes: a message of no platform.
import { terminalAddress } from '../domain/address.ts'
import type { Address } from '../domain/address.ts'
import type { Message } from '../domain/message.ts'
import { classifySessionKey } from '../domain/session-key-forms.ts'
import type { TurnEvent } from '../domain/turn.ts'
import type { Input, TurnWish } from '../store/work-store.ts'
import { internalChannel } from '../rights/author.ts'
import type { Author } from '../rights/author.ts'

export interface AskRequest {
  agentId: string
  sessionKey: string
  text: string
  /** Who asks, for the record. */
  from: string
  /** Asked in a terminal, which shows what the session is told later. */
  terminal?: boolean
  /** Where the reply is sent when `deliver` is set. */
  address?: Address
  deliver?: boolean
  /** May the text be a command? Not that of a stranger's program. */
  mayCommand?: boolean
  model?: string
  thinking?: string
  /** For whom the turn is taken; it has no more rights than that author, nor than its session. */
  askedBy: Author
  /** The same key asks once; a repeat is refused with `conflict`. */
  key?: string
  onEvent?: (event: TurnEvent) => void
}

export function inputOf(request: AskRequest, key: string, now: number): Input {
  const { mayCommand = true } = request
  return {
    key,
    lane: request.sessionKey,
    agentId: request.agentId,
    message: messageOf(request, key, now),
    mayCommand,
    owner: mayCommand,
    wish: wishOf(request),
  }
}

function messageOf(request: AskRequest, key: string, now: number): Message {
  const { kind } = classifySessionKey(request.sessionKey)
  return {
    id: key,
    event: 'message',
    address: request.address ?? addressOf(request),
    chatType: kind === 'group' || kind === 'channel' ? kind : 'direct',
    sender: { id: request.from, name: request.from },
    text: request.text,
    sentAt: now,
    mentioned: true,
    media: [],
  }
}

function addressOf({ terminal, sessionKey, from }: AskRequest): Address {
  return terminal ? terminalAddress(sessionKey) : { channel: internalChannel, accountId: 'default', to: from }
}

function wishOf(request: AskRequest): TurnWish {
  return {
    deliver: request.deliver === true && request.address !== undefined,
    askedBy: request.askedBy,
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(request.thinking === undefined ? {} : { thinking: request.thinking }),
  }
}
