// What a reader of a conversation sees of an entry: who, when, and the words.
import type { TranscriptEntry, TranscriptMessage } from '../domain/transcript.ts'

export type SpeechRole = 'User' | 'Assistant' | 'Tool' | 'Note'

export interface Speech {
  role: SpeechRole
  at: string
  text: string
}

export function speechOf(entry: TranscriptEntry): Speech[] {
  const say = (role: SpeechRole, text: string): Speech[] =>
    text.trim() === '' ? [] : [{ role, at: entry.timestamp, text }]
  switch (entry.type) {
    case 'message':
      return say(roleOf(entry.message), wordsOf(entry.message))
    case 'compaction':
      return say('Note', `What was said before, in short:\n\n${entry.summary}`)
    case 'branch_summary':
      return say('Note', entry.summary)
    case 'custom_message':
      return entry.display ? say('Note', textOf(entry.content)) : []
    default:
      return []
  }
}

function roleOf(message: TranscriptMessage): SpeechRole {
  if (message.role === 'user') return 'User'
  if (message.role === 'assistant') return 'Assistant'
  return message.role === 'custom' ? 'Note' : 'Tool'
}

function wordsOf(message: TranscriptMessage): string {
  if (message.role === 'bashExecution') return `$ ${textOf(message['command'])}\n${textOf(message['output'])}`
  const text = textOf(message['content'])
  const failed =
    message.role === 'assistant' && message.errorMessage ? `(failed: ${message.errorMessage})` : ''
  return [text, failed].filter(Boolean).join('\n')
}

/** The text of content in any of its shapes. A picture is named, a tool call is one line. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map(blockText).filter(Boolean).join('\n')
}

function blockText(block: unknown): string {
  if (typeof block !== 'object' || block === null) return ''
  const { type, text, name, arguments: input, mimeType } = block as Record<string, unknown>
  if (type === 'text') return typeof text === 'string' ? text : ''
  if (type === 'toolCall') return `[${String(name)}: ${JSON.stringify(input ?? {})}]`
  if (type === 'image') return `[image: ${typeof mimeType === 'string' ? mimeType : 'unknown'}]`
  return ''
}
