// Constructs search: the index file, the texts that it reads, and the secrets that must not get into it.
import { resolve } from 'node:path'
import type { IndexProgress, SearchPart } from '../domain/search.ts'
import type { App } from '../operations/app.ts'
import { Search } from '../search/search.ts'
import { TranscriptCopies } from '../store/postgres/transcript-copies.ts'
import { agentFrom } from './configured-agents.ts'
import { knownSecrets } from './known-secrets.ts'

type Needs = Pick<
  App,
  | 'environment'
  | 'config'
  | 'paths'
  | 'clock'
  | 'log'
  | 'events'
  | 'agentIds'
  | 'sessions'
  | 'transcripts'
  | 'discovery'
  | 'postgres'
  | 'memory'
>

export function openSearch(app: Needs, onProgress?: (progress: IndexProgress) => void): SearchPart {
  const { config, paths, clock, log, events, agentIds, sessions, transcripts, discovery, postgres } = app
  return new Search({
    indexFile: paths.searchIndex,
    meaning: config.memory.meaning,
    secrets: knownSecrets(app),
    clock,
    log,
    events,
    onProgress,
    sources: {
      agentIds,
      sessions,
      transcripts,
      discovery,
      log,
      sessionsFolder: (agentId) => paths.sessions(agentId),
      notePlaces: (agentId) => ({
        workspace: agentFrom(config, paths, agentId).workspace,
        agentFolder: paths.agent(agentId),
      }),
      sharedNoteFolders: config.memory.folders.map((folder) => resolve(paths.root, folder)),
      refreshNotes: async () => app.memory?.().refresh(agentIds()),
      copies: postgres && new TranscriptCopies(postgres, paths.transcriptCopies, clock),
    },
  })
}
