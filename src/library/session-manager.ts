// Coding sessions under the seeds' names, for programs that use Rockpool as a library.
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'
import { perform } from '../operations/perform.ts'
import type { Caller } from '../operations/operation.ts'
import type { WithApp } from './with-app.ts'

const program: Caller = { via: 'rpc', scopes: ['admin'], name: 'library' }

export interface CodingLibrary {
  /** Tells the chat that a coding session came from, or its agent when no chat can be reached; the same label once. */
  routeEventMessage: (session: { id: string }, eventText: string, label: string) => Promise<void>
  /** Answers what the session in this repository asks; the request is named by its id or the beginning of it. */
  respondToPermission: (repoPath: string, requestId: string, allow: boolean) => Promise<void>
}

export function codingLibrary(withApp: WithApp): CodingLibrary {
  return {
    routeEventMessage: (session, eventText, label) =>
      withApp(async (app) => {
        const { pool, notifications } = app.coding()
        await notifications.routeEventMessage(pool.resolve(session.id), eventText, label)
      }),
    respondToPermission: (repoPath, requestId, allow) =>
      withApp(async (app) => {
        const { approvals } = app.coding()
        const real = realPathOf(repoPath)
        const asked = approvals
          .pending()
          .find(
            ({ id, codingId }) =>
              id.startsWith(requestId) && inRepo(codingId && app.storage.coding.get(codingId), real),
          )
        if (!asked) throw nothingAsked(repoPath, requestId)
        await perform(app, 'approvals.answer', { id: asked.id, decision: allow ? 'allow' : 'deny' }, program)
      }),
  }
}

/** Sessions know where they really are; the same place may be named through a link. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // It may be gone while something in it still asks; then only the name as it is can match.
    return resolve(path)
  }
}

function inRepo(session: { request: { workdir: string } } | '' | undefined, repoPath: string): boolean {
  return session !== '' && session?.request.workdir === repoPath
}

function nothingAsked(repoPath: string, requestId: string): RockpoolError {
  return new RockpoolError('not-found', `Nothing in ${repoPath} asks ${requestId}.`, {
    hint: '`rockpool approvals list` shows what is open.',
  })
}
