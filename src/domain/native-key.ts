// The session key of a native session, where rows of ours need one: questions, rules and notices.

export function nativeKey(sessionId: string): string {
  return `native:${sessionId}`
}

/** Claude's id of the native session; undefined for any other key. */
export function nativeIdOf(sessionKey: string | undefined): string | undefined {
  return sessionKey?.startsWith('native:') ? sessionKey.slice('native:'.length) : undefined
}
