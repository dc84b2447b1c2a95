// What the agent said, on its way to becoming replies. The seeds' name and shape; at the end of the pipeline it becomes
// our Reply.

export interface ReplyPayload {
  text?: string
  mediaUrl?: string
  mediaUrls?: string[]
  /** Reply to this message. */
  replyToId?: string
  /** The agent asked for a reply to a message. */
  replyToTag?: boolean
  /** Reply to the message that began the turn. */
  replyToCurrent?: boolean
  audioAsVoice?: boolean
  isError?: boolean
  channelData?: Record<string, unknown>
}

/** Is there anything to show? */
export function isRenderablePayload(payload: ReplyPayload): boolean {
  return Boolean(
    payload.text?.trim() ||
    payload.mediaUrl ||
    payload.mediaUrls?.length ||
    payload.audioAsVoice ||
    (payload.channelData && Object.keys(payload.channelData).length > 0),
  )
}
