// Things that people, agents and programs say in a transcript.
import type { EntryBody, TranscriptMessage } from '../../src/domain/transcript.ts'

export function said(text: string): EntryBody {
  return { type: 'message', message: { role: 'user', content: text, timestamp: 1 } }
}

export function answered(text: string): EntryBody {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost }
  return {
    type: 'message',
    message: {
      role: 'assistant',
      content: [{ type: 'text', text }],
      api: 'anthropic-messages',
      provider: 'anthropic',
      model: 'claude-opus-4-5',
      usage,
      stopReason: 'stop',
      timestamp: 2,
    },
  }
}

/** `count` entries, question and answer in turn. */
export function talk(count: number, from = 1): EntryBody[] {
  return Array.from({ length: count }, (_, n) =>
    n % 2 === 0 ? said(`q${n + from}`) : answered(`a${n + from}`),
  )
}

/** One entry of every kind but compaction, which has to name another. */
export function everyKind(): EntryBody[] {
  const call: EntryBody = answered('Let me look.')
  if (call.type === 'message' && call.message.role === 'assistant') {
    call.message.content.push({ type: 'toolCall', id: 'toolu_1', name: 'exec', arguments: { command: 'ls' } })
  }
  const content = [{ type: 'text', text: 'README.md' } as const]
  const result: TranscriptMessage = {
    role: 'toolResult',
    toolCallId: 'toolu_1',
    toolName: 'exec',
    content,
    isError: false,
    timestamp: 3,
  }
  const picture = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' } as const
  const seen = { type: 'text', text: 'see this: ünïcødé 🦞 \u2028' } as const
  return [
    { type: 'model_change', provider: 'anthropic', modelId: 'claude-opus-4-5' },
    { type: 'thinking_level_change', thinkingLevel: 'high' },
    { type: 'custom', customType: 'model-snapshot', data: { modelId: 'claude-opus-4-5' } },
    said('List the files, please.'),
    call,
    { type: 'message', message: result },
    answered('One file.'),
    { type: 'message', message: { role: 'user', content: [seen, picture], timestamp: 4 } },
    { type: 'custom_message', customType: 'notice', content: 'The model sees this.', display: false },
    { type: 'branch_summary', fromId: '00000000', summary: 'Another way was tried.' },
    { type: 'session_info', name: 'Every kind' },
    { type: 'label', targetId: '00000000', label: 'here' },
    answered('A picture.'),
  ]
}
