// Changes of a session's model and thinking level, as pi's transcript records them.
import type { SessionEntry } from '../domain/session.ts'
import type { EntryBody } from '../domain/transcript.ts'
import type { TranscriptStore } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'

export const defaultThinkingLevel = 'off'

/** Appends an entry for each of the two settings that differs. `agentModel` is the model without an override, if known. */
export async function recordSettingChanges(
  transcripts: TranscriptStore,
  session: { key: string; before: SessionEntry | undefined; entry: SessionEntry },
  agentModel: string | undefined,
): Promise<void> {
  const { key, before, entry } = session
  const bodies: EntryBody[] = []
  const modelId = entry.modelOverride ?? agentModel
  if (before?.modelOverride !== entry.modelOverride && modelId !== undefined)
    bodies.push({ type: 'model_change', provider: entry.providerOverride ?? 'anthropic', modelId })
  if (before?.thinkingLevel !== entry.thinkingLevel) bodies.push(thinkingChange(entry.thinkingLevel))
  if (bodies.length > 0) await transcripts.append(transcriptOf({ key, entry }), bodies, { cwd: '', key })
}

export function thinkingChange(thinkingLevel = defaultThinkingLevel): EntryBody {
  return { type: 'thinking_level_change', thinkingLevel }
}
