// Masks secrets that we know by value, in prompts and in everything that the agent returns. So no transcript, reply or event of a
// turn has them, also not from a platform's error text or a file that the agent read.
import type { AgentRuntime, Conversation, ConversationOptions, Prompt } from '../domain/agent.ts'
import { maskTexts, type Redactor } from '../domain/redact.ts'
import type { TurnEvent, TurnResult } from '../domain/turn.ts'

export function maskRuntime(runtime: AgentRuntime, redactor: Redactor): AgentRuntime {
  const masked = new WeakMap<Conversation, Conversation>()
  const mask = (conversation: Conversation): Conversation => {
    const known = masked.get(conversation) ?? maskConversation(conversation, redactor)
    masked.set(conversation, known)
    return known
  }
  return withMembers(runtime, {
    open: async (options) => mask(await runtime.open(maskOptions(options, redactor))),
    live(key) {
      const found = runtime.live(key)
      return found && mask(found)
    },
    received: (sdkSessionId, prompts) =>
      runtime.received(
        sdkSessionId,
        prompts.map((prompt) => maskPrompt(prompt, redactor)),
      ),
    prewarm: runtime.prewarm && ((options) => runtime.prewarm!(maskOptions(options, redactor))),
  })
}

/** `target` with some members replaced. All others are used on `target` itself, because classes have private members. */
function withMembers<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(_target, name) {
      if (name in members) return members[name as keyof T]
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

function maskOptions(options: ConversationOptions, redactor: Redactor): ConversationOptions {
  const { onUnprompted } = options
  if (!onUnprompted) return options
  const event = maskEvents((each) => onUnprompted.event(each), redactor)
  const ended = (result: TurnResult): void => onUnprompted.ended(maskResult(result, redactor))
  return { ...options, onUnprompted: { event, ended } }
}

function maskConversation(conversation: Conversation, redactor: Redactor): Conversation {
  return withMembers(conversation, {
    async turn(prompt, onEvent) {
      const masked = maskPrompt(prompt, redactor)
      return maskResult(await conversation.turn(masked, maskEvents(onEvent, redactor)), redactor)
    },
    steer: (prompt) => conversation.steer(maskPrompt(prompt, redactor)),
  })
}

function maskPrompt<T extends Pick<Prompt, 'text'>>(prompt: T, redactor: Redactor): T {
  return { ...prompt, text: redactor.knownValues(prompt.text) }
}

function maskResult(result: TurnResult, { knownValues }: Redactor): TurnResult {
  // Masking keeps the shape of a value.
  return maskTexts(result, knownValues) as TurnResult
}

/** A secret may arrive in pieces: text that may be the beginning of a secret is held back until the rest arrives. */
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
    const safe = text.length - redactor.partialValueLength(text)
    held = text.slice(safe)
    if (safe > 0) onEvent({ type: 'text-delta', text: text.slice(0, safe) })
  }
}
