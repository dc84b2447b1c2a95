// Masks secrets that we know by value, in prompts and in everything that the agent returns. So no transcript, reply or event of a
// turn has them, also not from a platform's error text or a file that the agent read.
import type { AgentRuntime, Conversation, ConversationOptions, Prompt } from '../domain/agent.ts'
import { maskTexts } from '../domain/redact.ts'
import type { Redactor } from '../domain/redact.ts'
import type { TurnEvent, TurnResult } from '../domain/turn.ts'

export function maskRuntime(runtime: AgentRuntime, redactor: Redactor): AgentRuntime {
  const masked = new WeakMap<Conversation, Conversation>()
  const wrap = (conversation: Conversation): Conversation => {
    const known = masked.get(conversation) ?? maskConversation(conversation, redactor)
    masked.set(conversation, known)
    return known
  }
  return {
    kind: runtime.kind,
    billing: runtime.billing,
    open: async (options) => wrap(await runtime.open(maskOptions(options, redactor))),
    live(key) {
      const found = runtime.live(key)
      return found && wrap(found)
    },
    resumable: (sdkSessionId) => runtime.resumable(sdkSessionId),
    received: (sdkSessionId, prompts) =>
      runtime.received(
        sdkSessionId,
        prompts.map((prompt) => ({ ...prompt, text: redactor.knownValues(prompt.text) })),
      ),
    ...(runtime.prewarm && {
      prewarm: (options: ConversationOptions) => runtime.prewarm!(maskOptions(options, redactor)),
    }),
    close: () => runtime.close(),
  }
}

function maskOptions(options: ConversationOptions, redactor: Redactor): ConversationOptions {
  const { onUnprompted } = options
  if (!onUnprompted) return options
  const event = maskEvents((each) => onUnprompted.event(each), redactor)
  const ended = (result: TurnResult): void => onUnprompted.ended(maskResult(result, redactor))
  return { ...options, onUnprompted: { event, ended } }
}

function maskConversation(conversation: Conversation, redactor: Redactor): Conversation {
  const maskPrompt = (prompt: Prompt): Prompt => ({ ...prompt, text: redactor.knownValues(prompt.text) })
  return {
    get key() {
      return conversation.key
    },
    get sdkSessionId() {
      return conversation.sdkSessionId
    },
    get pid() {
      return conversation.pid
    },
    get busy() {
      return conversation.busy
    },
    get closed() {
      return conversation.closed
    },
    get ended() {
      return conversation.ended
    },
    turn: async (prompt, onEvent) =>
      maskResult(await conversation.turn(maskPrompt(prompt), maskEvents(onEvent, redactor)), redactor),
    steer: (prompt) => conversation.steer(maskPrompt(prompt)),
    interrupt: () => conversation.interrupt(),
    setModel: (model) => conversation.setModel(model),
    setPermissionMode: (mode) => conversation.setPermissionMode(mode),
    otherWriter: () => conversation.otherWriter(),
    contextUsage: () => conversation.contextUsage(),
    close: () => conversation.close(),
    kill: () => conversation.kill(),
  }
}

function maskResult(result: TurnResult, { knownValues }: Redactor): TurnResult {
  // Masking keeps the shape of a value.
  return maskTexts(result, knownValues) as TurnResult
}

/** A secret may arrive in pieces: text that may be the beginning of one is held back until it is complete. */
function maskEvents(onEvent: (event: TurnEvent) => void, redactor: Redactor): (event: TurnEvent) => void {
  let held = ''
  const release = (): void => {
    if (held !== '') onEvent({ type: 'text-delta', text: held })
    held = ''
  }
  return (event) => {
    if (event.type !== 'text-delta') {
      release()
      onEvent(maskTexts(event, redactor.knownValues) as TurnEvent)
      return
    }
    const text = redactor.knownValues(held + event.text)
    const safe = text.length - redactor.begunValue(text)
    held = text.slice(safe)
    if (safe > 0) onEvent({ type: 'text-delta', text: text.slice(0, safe) })
  }
}
