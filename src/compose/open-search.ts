// Constructs search: the index file, the texts that it reads, and the secrets that must not get into it.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { copiesOf, searchableCopies } from '../discovery/agents/searchable-copies.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { IndexProgress, SearchPart } from '../domain/search.ts'
import type { App } from '../operations/app.ts'
import { goneSessions, keptConversation } from '../operations/vault/kept-sessions.ts'
import { Search } from '../search/search.ts'
import { indexLimit } from '../search/tool-texts.ts'
import { workspaceOf } from '../store/agents.ts'
import { knownSecrets } from '../store/known-secrets.ts'
import { spokenCopies } from '../vault/spoken-copies.ts'

export function openSearch(
  app: App,
  onProgress?: (progress: IndexProgress) => void,
  limit = indexLimit(app.config.memory.indexShare),
): SearchPart {
  const { config, paths, clock, log, events, agentIds, storage, discovery } = app
  return new Search({
    indexFile: paths.searchIndex,
    meaning: config.memory.meaning,
    limit,
    secrets: knownSecrets(app),
    clock,
    log,
    events,
    onProgress,
    sources: {
      agentIds,
      sessions: storage.sessions,
      transcripts: storage.transcripts,
      discovery,
      log,
      sessionsFolder: (agentId) => paths.sessions(agentId),
      notePlaces: (agentId) => ({
        workspace: workspaceOf(app, agentId),
        agentFolder: paths.agent(agentId),
      }),
      sharedNoteFolders: config.memory.folders.map((folder) => resolve(paths.root, folder)),
      refreshNotes: () => storage.notes.refresh(agentIds()),
      copiedTranscripts: async () => [
        ...(existsSync(paths.vault) ? await spokenCopies(await app.vault(), paths.spokenCopies) : []),
        ...(await searchableCopies(otherSessions(app), paths.agentCopies, log)),
      ],
      copiesOfOthers: async (sessionIds) =>
        copiesOf(await discovery().known(sessionIds), discovery(), paths.agentCopies, log),
      copies: storage.cluster?.openTranscriptCopies(),
    },
  })
}

/** All sessions, those included that only the vault has. Nothing of an encrypted vault is readable on disk. */
function otherSessions(app: App): Parameters<typeof searchableCopies>[0] {
  const gone = new Map<string, DiscoveredSession>()
  return {
    async list(filter) {
      const found = await app.discovery().list(filter)
      const isReadable = existsSync(app.paths.vault) && !(await app.vault()).isEncrypted
      for (const session of isReadable ? await goneSessions(app) : []) gone.set(session.sessionId, session)
      return { ...found, sessions: [...found.sessions, ...gone.values()] }
    },
    conversation(sessionId) {
      const kept = gone.get(sessionId)
      return kept ? keptConversation(app, kept) : app.discovery().conversation(sessionId)
    },
  }
}
