// Sessions like a given one: a search for its subject among all other sessions.
import { z } from 'zod'
import { subjectOf } from '../../discovery/relevance.ts'
import { operation, type Operation } from '../operation.ts'
import { visibleTo } from '../perform-operation.ts'
import { answerSearch, searchOutput } from '../search/search-sessions.ts'
import { sessionField } from '../input-fields.ts'
import { ownSession } from './cc.ts'

const similar = operation({
  name: 'cc.similar',
  description: 'Find sessions about the same subject as a Claude Code session.',
  input: z.strictObject({
    id: sessionField(),
    limit: z.int().min(1).max(200).default(10).describe('How many hits.'),
  }),
  output: searchOutput,
  scope: 'read',
  isCostly: true,
  heavyParts: ['discovery', 'search'],
  command: { positional: ['id'], examples: ['rockpool cc similar 3f2a'] },
  async run(app, { id, limit }, caller) {
    const session = await ownSession(app, id, caller)
    const question = {
      text: subjectOf(session),
      exceptSessionId: session.sessionId,
      source: 'native' as const,
      withoutTools: true,
      limit,
      ...visibleTo(caller, undefined),
    }
    return answerSearch(app, question, caller)
  },
})

export const operations: Operation[] = [similar]
