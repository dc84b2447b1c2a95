// Library functions on transcripts: listening for changes, and recording messages that were not sent by a turn.
import { dirname, resolve } from 'node:path'
import { systemClock } from '../domain/clock.ts'
import { parseAgentSessionKey } from '../domain/session-key-forms.ts'
import { mirrorDelivery } from '../sessions/transcript-changes.ts'
import { FileTranscripts } from '../store/transcripts/transcript-file.ts'
import { transcriptFile, transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { resolveDefaultSessionStorePath } from './paths.ts'
import { updateSessionStoreEntry } from './session-store.ts'
import { storeAt } from './stores.ts'

type Listener = (update: { sessionFile: string }) => void

// Callers pass in no object that could keep the listeners, so they are at module level, like the open stores.
const listeners = new Set<Listener>()

/** The returned function removes the listener. */
export function onSessionTranscriptUpdate(listener: Listener): () => void {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

export function emitSessionTranscriptUpdate(sessionFile: string): void {
  const trimmed = sessionFile.trim()
  if (trimmed === '') return
  for (const listener of listeners) listener({ sessionFile: trimmed })
}

/** Adds an assistant message that no model wrote: a message of a tool, a notice. */
export async function appendAssistantMessageToSessionTranscript(params: {
  agentId?: string
  sessionKey: string
  text?: string
  mediaUrls?: string[]
  storePath?: string
}): Promise<{ ok: true; sessionFile: string } | { ok: false; reason: string }> {
  const sessionKey = params.sessionKey.trim()
  if (sessionKey === '') return { ok: false, reason: 'missing sessionKey' }
  const agentId = params.agentId ?? parseAgentSessionKey(sessionKey)?.agentId ?? 'main'
  const storePath = resolve(params.storePath ?? resolveDefaultSessionStorePath(agentId))
  const entry = storeAt(storePath).get(sessionKey)
  if (!entry) return { ok: false, reason: `unknown sessionKey: ${sessionKey}` }

  const dir = dirname(storePath)
  const session = { key: sessionKey, entry }
  const sessionFile = transcriptFile(dir, agentId, transcriptOf(session))
  const transcripts = new FileTranscripts({ agentId, dir })
  const mirrored = await mirrorDelivery({ transcripts, clock: systemClock }, session, params)
  if (!mirrored.ok) return mirrored
  if (entry.sessionFile !== sessionFile) {
    await updateSessionStoreEntry({ storePath, sessionKey, update: () => ({ sessionFile }) })
  }
  emitSessionTranscriptUpdate(sessionFile)
  return { ok: true, sessionFile }
}
