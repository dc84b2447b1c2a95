// A message that a person sends while Claude Code works joins the running turn. Claude's transcript has it as an attachment, and every
// reader of transcripts takes it for a message of the person.
import { isRecord } from './json.ts'

/** The beginning of such an attachment: a cheap check before a line is decoded. */
export const joinedPromptStart = '{"type":"queued_command"'

/** The record as a message of the person, if it is a prompt that joined a turn. Every other record stays as it is. */
export function withJoinedPrompt(record: Record<string, unknown>): Record<string, unknown> {
  const { type, attachment } = record
  if (type !== 'attachment' || !isRecord(attachment) || !isByPerson(attachment)) return record
  return { ...record, type: 'user', message: { role: 'user', content: attachment['prompt'] } }
}

/** The rule is that of Claude Code: notifications of tasks, messages of other agents and its own notes take the same way. After a
 *  compaction Claude Code repeats some of them. */
function isByPerson({
  type,
  commandMode,
  isMeta,
  origin,
  carriedByCompaction,
}: Record<string, unknown>): boolean {
  if (type !== 'queued_command' || commandMode === 'task-notification') return false
  if (isMeta === true || carriedByCompaction === true) return false
  return origin === undefined || origin === null || (isRecord(origin) && origin['kind'] === 'human')
}
