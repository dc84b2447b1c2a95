// The agent may send a message with a tool and then say the same again at the end of its turn. People get it once.
import type { ReplyPayload } from './payload.ts'

/** Shorter texts ("Done.") may well be meant twice. */
const shortestDuplicate = 10

export function filterMessagingToolDuplicates(params: {
  payloads: readonly ReplyPayload[]
  sentTexts: readonly string[]
}): ReplyPayload[] {
  const sent = params.sentTexts.map(normalize).filter((text) => text.length >= shortestDuplicate)
  if (sent.length === 0) return [...params.payloads]
  return params.payloads.filter((payload) => {
    if (payload.mediaUrl || payload.mediaUrls?.length) return true
    const text = normalize(payload.text ?? '')
    return text.length < shortestDuplicate || !sent.includes(text)
  })
}

function normalize(text: string): string {
  return text
    .toLowerCase()
    .replace(/\p{Extended_Pictographic}/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
}
