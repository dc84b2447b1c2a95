// Errors for a coding session that cannot be launched, answered or resumed, each with a remedy.
import type { Resumable } from '../domain/agent.ts'
import type { CodingLifecycle, CodingSession } from '../domain/coding-session.ts'
import { sessionState } from '../domain/coding-state.ts'
import { errorText, RockpoolError } from '../domain/errors.ts'
import { shellWord } from '../domain/text.ts'
import { maySeeCoding } from '../rights/rights.ts'

export function noSuchSession(ref: string): RockpoolError {
  return new RockpoolError('not-found', `There is no coding session ${JSON.stringify(ref.slice(0, 80))}.`, {
    hint: '`rockpool cc sessions` lists the coding sessions of Rockpool. Read any other session of `rockpool cc list` with `rockpool cc read`, or continue it here with `rockpool cc resume`.',
  })
}

export function ambiguousSession(ref: string, found: CodingSession[]): RockpoolError {
  const names = found.map((session) => `${session.id} (${session.name})`).join(', ')
  const named = JSON.stringify(ref.slice(0, 80))
  return new RockpoolError('ambiguous', `Several coding sessions match ${named}: ${names}.`, {
    hint: 'Give the whole id of one of them.',
  })
}

export function tooManyResponds({ name }: CodingSession, max: number): RockpoolError {
  return new RockpoolError('refused', `⚠️ Auto-respond limit reached (${max}/${max}) for ${name}.`, {
    hint: 'A person must look at it and answer.',
  })
}

export function queueFull(waiting: number): RockpoolError {
  return new RockpoolError('busy', `${waiting} coding sessions wait in the queue already.`, {
    hint: 'Wait for some, kill some, or raise coding.maxQueued or coding.maxSessions.',
  })
}

/** The name of a session, for an agent that may not see the sessions of others; `undefined` stands for a person. */
export function nameFor(agentId: string | undefined, { name, request }: CodingSession): string {
  return agentId === undefined || request.agentId === agentId ? name : 'a session of another agent'
}

export function repoTaken(name: string, workdir: string, queued: number): RockpoolError {
  return new RockpoolError(
    'busy',
    `${workdir} is taken: ${name} works in it, and ${queued} more wait for it.`,
    {
      hint: 'Wait for it, kill it, use a worktree, or raise coding.perRepo.',
    },
  )
}

/** A suspended session is resumed by a message; one that has ended is not. */
export function notRunning(session: CodingSession): RockpoolError {
  const { name, lifecycle } = session
  if (lifecycle === 'suspended')
    return new RockpoolError('conflict', `${name} is suspended: no process runs it.`, {
      hint: continueWithMessage(session),
    })
  return new RockpoolError(
    'conflict',
    `${name} has ended (${sessionState(session)}); it takes no messages.`,
    {
      hint: `Continue it with \`rockpool cc resume ${shellWord(name)}\`.`,
    },
  )
}

/** For an interrupt of a session that takes no turn. */
export function noTurnToStop(session: CodingSession): RockpoolError {
  const { name, lifecycle } = session
  const states: Partial<Record<CodingLifecycle, string>> = {
    queued: 'waits in the queue',
    'awaiting-input': 'waits for its next message',
    suspended: 'is suspended',
  }
  const state = states[lifecycle] ?? `has ended (${sessionState(session)})`
  const hints: Partial<Record<CodingLifecycle, string>> = {
    queued: `End it with \`rockpool cc kill ${shellWord(name)}\`.`,
    ended: `Continue it with \`rockpool cc resume ${shellWord(name)}\`.`,
  }
  return new RockpoolError('conflict', `${name} ${state}, so there is no turn to stop.`, {
    hint: hints[lifecycle] ?? continueWithMessage(session),
  })
}

function continueWithMessage({ name }: CodingSession): string {
  return `Continue it with a message: \`rockpool cc respond ${shellWord(name)} "…"\`.`
}

export function notReopened({ name }: CodingSession): RockpoolError {
  return new RockpoolError('conflict', `${name} was not ended by a person, so there is no end to undo.`, {
    hint: `Continue it with \`rockpool cc resume ${shellWord(name)}\`.`,
  })
}

export function notStored(name: string, cause: unknown): RockpoolError {
  return new RockpoolError('disk-failed', `Could not store a change of ${name}: ${errorText(cause)}`, {
    hint: 'Free some disk space. Rockpool stores the change within a second; then try again.',
    cause,
  })
}

export function sessionAtWork(session: CodingSession): RockpoolError {
  return new RockpoolError(
    'conflict',
    `${session.name} is working; two processes must not write to one conversation.`,
    {
      hint: `Wait for it, stop it with \`rockpool cc interrupt ${shellWord(session.name)}\`, or fork it with \`rockpool cc fork\`.`,
    },
  )
}

export function sessionStillRunning(session: CodingSession): RockpoolError {
  return new RockpoolError('conflict', `${session.name} still runs.`, {
    hint: `Answer it with \`rockpool cc respond ${shellWord(session.name)}\`, or fork it.`,
  })
}

/** `viewer` is the agent that asks; absent for a person. */
export function conversationTaken(holder: CodingSession, viewer: string | undefined): RockpoolError {
  const isSeen = maySeeCoding(holder.request, viewer)
  const who = isSeen ? holder.name : 'a session of another agent'
  return new RockpoolError('conflict', `The conversation is taken: ${who} still runs in it.`, {
    hint: isSeen
      ? `Answer it with \`rockpool cc respond ${shellWord(holder.name)}\`, or fork it.`
      : 'Wait for it, or fork it.',
  })
}

/** Only for people and the log: an agent that asks learns that there is no such session. */
export function continuedFor(earlier: CodingSession, { name, request }: CodingSession): RockpoolError {
  return new RockpoolError(
    'conflict',
    `The conversation of ${earlier.name} belongs to the agent ${request.agentId} since ${name} continued it.`,
    { hint: `Continue it with \`rockpool cc resume ${shellWord(name)}\`, or fork it.` },
  )
}

export function runsElsewhere(native: { sessionId: string; pid?: number }): RockpoolError {
  const where = native.pid === undefined ? '' : ` in process ${native.pid}`
  return new RockpoolError(
    'conflict',
    `${native.sessionId} is open${where}; two processes must not write to one conversation.`,
    { hint: 'Leave it there first, or fork it: `rockpool cc fork`.' },
  )
}

export function cannotResume(ref: string, session: CodingSession | undefined): RockpoolError {
  const message = session
    ? `${session.name} has no conversation that could be resumed.`
    : `There is no session ${JSON.stringify(ref.slice(0, 80))}.`
  return new RockpoolError('not-found', message, {
    hint: session
      ? `Launch it again: \`${launchCommand(session)}\`.`
      : '`rockpool cc list` shows the sessions of this machine.',
  })
}

/** The command that starts the task of this session again in a new one. It has the id of the session: a task may be too long for a
 *  message and have characters that a chat would change, and a name would have to be quoted. */
export function launchCommand({ id }: Pick<CodingSession, 'id'>): string {
  return `rockpool cc again ${id}`
}

/** `session`: the coding session whose conversation it is. */
export function notResumable(
  { why, reason }: Extract<Resumable, { ok: false }>,
  session?: Pick<CodingSession, 'id'>,
): RockpoolError {
  if (why === 'in-use')
    return new RockpoolError('busy', reason, {
      hint: 'Leave it there first, or fork it: `rockpool cc fork`.',
    })
  const launch = session ? launchCommand(session) : 'rockpool cc launch "…" --repo .'
  return new RockpoolError('not-found', reason, {
    hint:
      why === 'damaged' ? 'Repair a copy of it: `rockpool cc repair`.' : `Launch it again: \`${launch}\`.`,
  })
}
