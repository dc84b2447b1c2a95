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

/** Tags with which Claude Code marks text that the person did not write. */
export const machineTags =
  'system-reminder|system|conversation_history|command-(?:name|message|args|contents)|local-command-\\w+|bash-(?:input|stdout|stderr)|task-notification|task-\\w+|cross-session-message|teammate-message|agent-message|channel-message|user-prompt-submit-hook|user-memory-input|tool_use_error|function_results|persisted-output'

const tags = new RegExp(`[ \\t]*</?(?:${machineTags})(?:\\s[^<>]*)?>[ \\t]*`, 'gi')
/** Only in a notification: elsewhere people write such tags. */
const notificationTags = /[ \t]*<\/?(?:status|summary|note|result|usage|event)>[ \t]*/g
/** What they enclose is for programs. */
const numbers =
  /<(task-id|tool-use-id|output-file|subagent_tokens|total_tokens|tool_uses|duration_ms)>[^<>]{0,1000}<\/\1>/g

/** For snippets: the text without the tags of Claude Code, and without the ids and counts in its notifications. */
export function withoutTags(text: string): string {
  if (!text.includes('<')) return text
  const isNotification = text.includes('<task-notification')
  const said = isNotification ? text.replace(numbers, '').replace(notificationTags, ' ') : text
  return said.replace(tags, ' ')
}
