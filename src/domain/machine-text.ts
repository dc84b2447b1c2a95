// Text that programs add to prompts and keys, removed again where people read: titles, lists, search hits. The page uses it too, so
// it imports nothing.

/** Without the `[openclaw:agent=main]` that programs put in front of a first message. */
export function withoutMarker(message: string): string {
  return message.replace(/^(?:\s*\[openclaw:agent=[^\]]*\]\s*)+/, '')
}

/** For titles: also without the lines before a message that report events (`System: web: connected`). A message that consists of
 *  such a line keeps its words. */
export function titleText(message: string): string {
  const text = message.replace(/^(?:\s*\[openclaw:agent=[^\]]*\]\s*|System: [^\n]*\n\s*)+/, '')
  return text.replace(/^System: (?:\[[^\]]*\] )?/, '')
}
