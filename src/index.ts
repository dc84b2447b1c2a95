// The library: `import … from 'rockpool'`.
import { selectionLibrary } from './library/selection.ts'
import { readEnvironment } from './store/config-file.ts'

export { RockpoolError } from './domain/errors.ts'
export {
  buildAgentMainSessionKey,
  buildAgentPeerSessionKey,
  resolveGroupSessionKey,
} from './domain/session-key.ts'
export { parseAgentSessionKey } from './domain/session-key-forms.ts'
export {
  resolveDefaultSessionStorePath,
  resolveSessionTranscriptPath,
  resolveSessionTranscriptsDirForAgent,
  resolveStorePath,
} from './library/paths.ts'
export {
  clearSessionStoreCacheForTest,
  loadSessionStore,
  saveSessionStore,
  updateSessionStore,
  updateSessionStoreEntry,
  withSessionStoreLock,
} from './library/session-store.ts'
export {
  incrementCompactionCount,
  persistSessionUsageUpdate,
  recordSessionMetaFromInbound,
  updateLastRoute,
} from './library/session-updates.ts'
export {
  appendAssistantMessageToSessionTranscript,
  emitSessionTranscriptUpdate,
  onSessionTranscriptUpdate,
} from './library/transcripts.ts'
export {
  DEFAULT_MEMORY_FLUSH_PROMPT,
  DEFAULT_MEMORY_FLUSH_SOFT_TOKENS,
  DEFAULT_MEMORY_FLUSH_SYSTEM_PROMPT,
  resolveMemoryFlushSettings,
  shouldRunMemoryFlush,
} from './agent/memory-flush.ts'
export { ensureSkillSnapshot } from './agent/skills.ts'
export { evaluateSessionFreshness } from './sessions/freshness.ts'
export { parseSessionLabel, SESSION_LABEL_MAX_LENGTH } from './sessions/label.ts'
export { resolveSendPolicy } from './sessions/send-policy.ts'
export type { DeliveryContext, SessionEntry, SessionOrigin, SessionSkillSnapshot } from './domain/session.ts'
export { scoreSession } from './discovery/score.ts'
export type { SessionSelectionConfig } from './domain/config/discovery.ts'
export type { ProjectStatus } from './domain/project-status.ts'
export type { SessionScore, SessionSelection, TaskRelevance } from './domain/selection.ts'

export const { assessTaskRelevance, gatherProjectStatus, selectSession } = selectionLibrary(async () =>
  (await import('./app.ts')).openApp(readEnvironment(), { version: 'library' }),
)
export {
  ccSessionFileExists,
  discoverSessions,
  listAllSessions,
  parseJsonlHeader,
  repoPathToSlug,
} from './library/discovery.ts'
export type { JsonlHeader } from './library/discovery.ts'
export type { DiscoveredSession } from './domain/discovered-session.ts'
