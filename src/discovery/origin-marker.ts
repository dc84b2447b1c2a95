// The line that programs put in front of a first message to say who asked.

/** `[openclaw:agent=main]` in a first message. Anybody can write it, so it says nothing about who owns the session. */
export function originMarkerOf(firstMessage: string | undefined): string | undefined {
  return /\[openclaw:agent=([^\]]+)\]/.exec(firstMessage ?? '')?.[1]
}

/** The message as a person would have written it. */
export function withoutMarker(firstMessage: string): string {
  return firstMessage.replace(/^\s*\[openclaw:agent=[^\]]+\]\s*/, '')
}
