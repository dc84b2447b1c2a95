// The one place where answers to Claude hooks are made: asks every contributor that wants the event, and joins what they say. No
// contributor can delay or break a session: late answers are dropped, errors are logged.
import { within } from '../domain/async.ts'
import type { ClaudeHookAnswer, ClaudeHookContributor, ClaudeHookEvent } from '../domain/claude-hook.ts'
import type { Clock } from '../domain/clock.ts'
import { errorText } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'

/** A session waits for its hooks. An answer that is not there after this time is dropped. */
const answerMs = 250

interface ClaudeHooksParts {
  contributors: readonly ClaudeHookContributor[]
  clock: Clock
  log: Log
}

export class ClaudeHooks {
  readonly #parts: ClaudeHooksParts

  constructor(parts: ClaudeHooksParts) {
    this.#parts = parts
  }

  /** Never rejects. `signal` fires when the session no longer waits. */
  async onHook(event: ClaudeHookEvent, signal: AbortSignal): Promise<ClaudeHookAnswer> {
    const asked = this.#parts.contributors.filter(({ events }) => events.includes(event.name))
    const answers = asked.map((contributor) => this.#ask(contributor, event, signal))
    return event.name === 'PermissionRequest' ? firstDecision(answers) : joined(await Promise.all(answers))
  }

  async #ask(
    contributor: ClaudeHookContributor,
    event: ClaudeHookEvent,
    signal: AbortSignal,
  ): Promise<ClaudeHookAnswer | undefined> {
    const { clock, log } = this.#parts
    const { name } = contributor
    const drop = (): undefined => {
      log.warn(
        { event: 'claude-hook-late', contributor: name, hook: event.name },
        'An answer to a hook of Claude Code took too long and was dropped; the session continued without it.',
      )
    }
    try {
      const answering = contributor.answer(event, signal)
      return event.name === 'PermissionRequest'
        ? await answering
        : await within(clock, answerMs, answering, drop)
    } catch (error) {
      log.error(
        { event: 'claude-hook-failed', contributor: name, hook: event.name, error: errorText(error) },
        'Could not answer a hook of Claude Code; the session continued without the answer.',
      )
      return undefined
    }
  }
}

/** Resolves with the first answer that has a decision; empty if none has one. */
async function firstDecision(
  answers: Array<Promise<ClaudeHookAnswer | undefined>>,
): Promise<ClaudeHookAnswer> {
  const deciding = answers.map(async (answering) => {
    const answer = await answering
    if (answer?.decision) return answer
    throw new Error('no decision')
  })
  return Promise.any(deciding).catch(() => ({}))
}

function joined(all: Array<ClaudeHookAnswer | undefined>): ClaudeHookAnswer {
  const answers = all.filter((answer) => answer !== undefined)
  const texts = answers.flatMap(({ additionalContext }) => additionalContext || [])
  return {
    done: answers.find(({ done }) => done !== undefined)?.done,
    additionalContext: texts.length > 0 ? texts.join('\n\n') : undefined,
    onSent: () => answers.forEach(({ onSent }) => onSent?.()),
    onDropped: () => answers.forEach(({ onDropped }) => onDropped?.()),
  }
}
