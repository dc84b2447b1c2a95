// The prompts for Claude: a stream that stays open as long as the conversation, so that one process takes many turns.
import type { SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'
import type { Prompt } from '../domain/agent.ts'

export class InputStream implements AsyncIterable<SDKUserMessage> {
  #waiting: SDKUserMessage[] = []
  #wake: (() => void) | undefined
  #ended = false

  push(prompt: Prompt): void {
    this.#waiting.push(toUserMessage(prompt))
    this.#wake?.()
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SDKUserMessage> {
    for (;;) {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) yield next
      if (this.#ended) return
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

export function toUserMessage(prompt: Prompt): SDKUserMessage {
  const images = prompt.images ?? []
  return {
    type: 'user',
    message: {
      role: 'user',
      content:
        images.length === 0
          ? prompt.text
          : [...images.map(toImageBlock), { type: 'text' as const, text: prompt.text }],
    },
    parent_tool_use_id: null,
    uuid: prompt.uuid as SDKUserMessage['uuid'],
    client_composed: prompt.command || !wouldBeInterpreted(prompt.text) ? undefined : true,
  }
}

/** Claude Code runs `/commands` and reads `@files` in prompts. Text from a chat must not be treated as either. Other text is
 *  sent as it is: only then does Claude Code add its own reminders (plan mode, skills) to it. */
function wouldBeInterpreted(text: string): boolean {
  return /^\s*[/!#]/.test(text) || text.includes('@')
}

type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

function toImageBlock({ data, mimeType }: { data: string; mimeType: string }): {
  type: 'image'
  source: { type: 'base64'; media_type: ImageType; data: string }
} {
  return { type: 'image', source: { type: 'base64', media_type: mimeType as ImageType, data } }
}
