// Sessions: list, look at and change them.
import type { Operation } from '../operation.ts'
import { listArchives } from './session-archives.ts'
import { compactSession } from './session-compact.ts'
import { exchangeOperations } from './session-export.ts'
import { lifeOperations } from './session-life.ts'
import { listSessions } from './session-list.ts'
import { recallLost } from './compacted-history.ts'
import { patchSession } from './session-patch.ts'
import { readOperations } from './session-read.ts'
import { searchSessions } from '../search/search-sessions.ts'
import { spawnSession } from './session-spawn.ts'
import { talkOperations } from './session-talk.ts'
import { sessionUsage } from './session-usage.ts'

export const operations: Operation[] = [
  listSessions,
  ...readOperations,
  patchSession,
  ...lifeOperations,
  listArchives,
  compactSession,
  ...exchangeOperations,
  sessionUsage,
  spawnSession,
  ...talkOperations,
  searchSessions,
  recallLost,
]
