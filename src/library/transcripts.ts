// The seeds' transcript functions: hearing of changes, and writing down what was delivered by another way.
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

// The seeds give these functions no place to keep their listeners; so, like the opened stores, they are kept here.
const listeners = new Set<Listener>()

/** The returned function ends it. */
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

/** Adds an assistant's message that no model made: what a tool or a notice told the person. */
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
