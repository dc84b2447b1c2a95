// The library: `import … from 'rockpool'`.
import { codingLibrary, discoveryLibrary, selectionLibrary, withAppFrom } from './library/one-call.ts'
import {
  Session as LibrarySession,
  SessionManager as LibrarySessionManager,
} from './library/coding-classes.ts'
import type { SessionConfig } from './library/coding-classes.ts'
import { readEnvironment } from './store/config-file.ts'

export { RockpoolError } from './domain/errors.ts'
export {
  buildAgentMainSessionKey,
  buildAgentPeerSessionKey,
  DEFAULT_ACCOUNT_ID,
  DEFAULT_AGENT_ID,
  DEFAULT_MAIN_KEY,
} from './domain/session-key.ts'
export { parseAgentSessionKey } from './domain/session-key-forms.ts'
export type { ParsedAgentSessionKey } from './domain/session-key-forms.ts'
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
  listSessionFilesForAgent,
  sessionFileEntry,
  sessionPathForFile,
  syncSessionFiles,
} from './library/session-files.ts'
export type { SessionFileEntry } from './library/session-files.ts'
export {
  DEFAULT_MEMORY_FLUSH_PROMPT,
  DEFAULT_MEMORY_FLUSH_SOFT_TOKENS,
  DEFAULT_MEMORY_FLUSH_SYSTEM_PROMPT,
  resolveMemoryFlushSettings,
  shouldRunMemoryFlush,
} from './agent/memory-flush.ts'
export {
  finalizeInboundContext,
  formatInboundBodyWithSenderMeta,
  resolveGroupSessionKey,
} from './library/openclaw-context.ts'
export type { GroupKeyResolution, MsgContext, TemplateContext } from './library/openclaw-context.ts'
export {
  appendHistoryEntry,
  buildHistoryContextFromMap,
  clearHistoryEntries,
  DEFAULT_GROUP_HISTORY_LIMIT,
  evictOldHistoryKeys,
  MAX_HISTORY_KEYS,
} from './library/group-history.ts'
export type { HistoryEntry } from './library/group-history.ts'
export { stripMentions } from './inbound/mentions.ts'
export {
  CURRENT_MESSAGE_MARKER,
  HISTORY_CONTEXT_MARKER,
  normalizeInboundTextNewlines,
  stripStructuralPrefixes,
} from './inbound/message-text.ts'
export { appendUntrustedContext } from './inbound/message-text.ts'
export {
  applyResetModelOverride,
  enqueueSystemEvent,
  ensureSkillSnapshot,
  forkSessionFromParent,
  initSessionState,
  prependSystemEvents,
  resolveSession,
} from './library/session-init.ts'
export type { ResolvedSession, SessionInitResult, SessionScope } from './library/session-init.ts'
export { buildModelAliasIndex } from './sessions/model-names.ts'
export type { ModelAliasIndex } from './sessions/model-names.ts'
export {
  applyReplyThreading,
  buildReplyPayloads,
  filterMessagingToolDuplicates,
  isRenderablePayload,
  parseReplyDirectives,
} from './library/reply-payloads.ts'
export type { ReplyPayload } from './library/reply-payloads.ts'
export {
  HEARTBEAT_TOKEN,
  isSilentReplyText,
  SILENT_REPLY_TOKEN,
  stripHeartbeatToken,
} from './replies/compose.ts'
export { HEARTBEAT_PROMPT } from './flow/heartbeat.ts'
export { runMemoryFlushIfNeeded } from './flow/flush-memory.ts'
export type {
  SessionFreshness,
  SessionResetMode,
  SessionResetPolicy,
  SessionResetType,
} from './sessions/freshness.ts'
export { evaluateSessionFreshness } from './sessions/freshness.ts'
export { parseSessionLabel, SESSION_LABEL_MAX_LENGTH } from './sessions/label.ts'
export type { ParsedSessionLabel } from './sessions/label.ts'
export { resolveSendPolicy } from './sessions/send-policy.ts'
export type { SessionSendPolicyDecision } from './sessions/send-policy.ts'
export type {
  DeliveryContext,
  SessionEntry,
  SessionOrigin,
  SessionSkillSnapshot,
  SessionSystemPromptReport,
} from './domain/session.ts'
export { scoreSession } from './discovery/score.ts'
export type { SessionSelectionConfig } from './domain/config/coding-settings.ts'
export type { ProjectStatus } from './domain/project-status.ts'
export type { SessionScore, SessionSelection, TaskRelevance } from './domain/selection.ts'

const open = async () => (await import('./app.ts')).openApp(readEnvironment(), { version: 'library' })
const withApp = withAppFrom(open)
export const { assessTaskRelevance, gatherProjectStatus, selectSession } = selectionLibrary(withApp)
export const { discoverSessions, listAllSessions } = discoveryLibrary(withApp)
export { ccSessionFileExists, parseJsonlHeader, repoPathToSlug } from './library/one-call.ts'
export type { JsonlHeader } from './library/one-call.ts'
export type { DiscoveredSession } from './domain/discovered-session.ts'

export const { respondToPermission, routeEventMessage } = codingLibrary(withApp)
export { InputStream as MessageStream } from './agent/input-stream.ts'

/** A coding session; see docs/library.md. */
export class Session extends LibrarySession {
  constructor(config: SessionConfig, name: string) {
    super(config, name, open)
  }
}

/** All coding sessions of this program; see docs/library.md. */
export class SessionManager extends LibrarySessionManager {
  constructor(options: { maxSessions?: number } = {}) {
    super(open, options)
  }
}

export { NotificationRouter } from './library/coding-classes.ts'
export type { SessionConfig } from './library/coding-classes.ts'
export { formatListing, formatStats } from './coding/listing.ts'
export { formatDuration, generateSessionName } from './coding/session/names.ts'
export { resolveOriginChannel } from './coding/session/origin.ts'
export type { CodingConfig as PluginConfig } from './domain/config/coding-settings.ts'
export type { PermissionMode } from './domain/agent.ts'
export type {
  CodingSession as ClaudeSession,
  CodingStatus as SessionStatus,
} from './domain/coding-session.ts'
