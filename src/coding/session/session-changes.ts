// What the row of a coding session becomes: when it is launched, after a turn, at its end.
import { randomUUID } from 'node:crypto'
import type {
  CodingLifecycle,
  CodingOwner,
  CodingRequest,
  CodingSession,
  CodingStatus,
  EndReason,
} from '../../domain/coding-session.ts'
import type { TurnEvent, TurnResult } from '../../domain/turn.ts'
import { generateSessionName, newCodingId } from './names.ts'
import { nothingToSay } from './pending-messages.ts'

/** How a session begins, beside what it is asked to do. */
export interface Beginning {
  /** What an earlier one was told and has not said: it comes first. */
  unsaid?: string[]
  aside?: string
  /** Given by whoever asks from another machine, so that asking twice launches once. */
  id?: string
}

export function launched(
  request: CodingRequest,
  { unsaid = [], aside, id = newCodingId() }: Beginning,
  by: { owner: CodingOwner; machine?: string; now: number },
): CodingSession {
  return {
    id,
    name: request.name ?? generateSessionName(request.prompt),
    newSdkSessionId: randomUUID(),
    request,
    status: 'starting',
    lifecycle: 'queued',
    machine: by.machine,
    aside,
    owner: by.owner,
    createdAt: by.now,
    lastActivityAt: by.now,
    budgetUsd: request.budgetUsd,
    allowances: {},
    costUsd: 0,
    turns: 0,
    autoResponds: 0,
    waitedMs: 0,
    inbox: [...unsaid, request.prompt],
    given: [],
    lastSeq: 0,
    resumedFrom: request.resume?.sdkSessionId,
  }
}

/** What an event of a turn says about the session itself. */
export function changeAfter(event: TurnEvent): Partial<CodingSession> | undefined {
  if (event.type === 'session-id') return { sdkSessionId: event.sdkSessionId }
  if (event.type !== 'turn-start') return undefined
  const { model, sdkSessionId } = event
  return { status: 'running', lifecycle: 'active', model, sdkSessionId }
}

export function turnTaken(
  session: CodingSession,
  result: TurnResult,
  costUsd: number,
): Partial<CodingSession> {
  return {
    turns: session.turns + 1,
    costUsd,
    sdkSessionId: result.sdkSessionId ?? session.sdkSessionId,
    contextTokens: result.contextTokens ?? session.contextTokens,
    contextWindow: result.contextWindow ?? session.contextWindow,
    doing: undefined,
  }
}

export function ended(how: {
  status: CodingStatus
  lifecycle: CodingLifecycle
  end: { reason: EndReason; message: string; at: number }
}): Partial<CodingSession> {
  const rest = how.end.reason === 'user' ? nothingToSay() : {}
  return { ...how, waiting: undefined, doing: undefined, writing: undefined, owner: undefined, ...rest }
}
