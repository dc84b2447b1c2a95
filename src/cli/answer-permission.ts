// Questions that a running turn asks: for permission, an answer, a budget. Asks the person at the terminal. Without a terminal
// the answer is no, with a reason, because no person could see the question.
import { createInterface } from 'node:readline/promises'
import { asRockpoolError, messageAndHint } from '../domain/errors.ts'
import type { TurnEvent } from '../domain/turn.ts'
import type { Call } from '../rpc/client.ts'
import type { Terminal } from './host.ts'
import { printRequest } from './print-approvals.ts'
import type { Approval } from './print-approvals.ts'

export type Answer = { decision: 'allow' | 'deny'; text?: string; always?: boolean }

/** The approvals of a running turn, in this process or in the gateway. */
export interface Approvals {
  /** `asker`: the key of a chat session, or the id of a coding session. */
  pending(asker: string): Promise<Approval[]>
  answer(approval: Approval, answer: Answer): Promise<void>
}

export function approvalsOf(call: Call, by: 'sessionKey' | 'codingId'): Approvals {
  return {
    async pending(asker) {
      const { approvals } = await call('approvals.list', {})
      return approvals.filter((approval) => approval[by] === asker)
    },
    async answer({ id, inputHash }, answer) {
      await call('approvals.answer', { id, inputHash, ...answer })
    },
  }
}

export interface Prompt {
  terminal: Terminal
  /** Asks a question and reads a line; absent without a terminal. */
  ask?: (question: string) => Promise<string>
}

/** Asks one question and reads one line. Between questions the terminal is released, so that Ctrl-C ends the program. */
export async function askLine(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // Readline catches Ctrl-C while it reads.
  lines.once('SIGINT', () => {
    lines.close()
    process.kill(process.pid, 'SIGINT')
  })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}

const pollMs = 100
/** The approval is stored right after the turn reports that it waits. */
const maxPolls = 50

export class PermissionPrompt {
  #approvals: Approvals
  #prompt: Prompt
  #asked = new Set<string>()
  #asking: Promise<void> = Promise.resolve()
  #isOver = false

  constructor(approvals: Approvals, prompt: Prompt) {
    this.#approvals = approvals
    this.#prompt = prompt
  }

  /** Asks one question after another. */
  see(event: TurnEvent, asker: string): void {
    if (event.type !== 'waiting' || event.for === 'input') return
    this.#asking = this.#asking
      .then(() => this.#askAll(asker))
      .catch((error: unknown) => {
        this.#prompt.terminal.err(`${error instanceof Error ? error.message : String(error)}\n`)
      })
  }

  /** The turn is over: its questions no longer matter. */
  stop(): void {
    this.#isOver = true
  }

  async #askAll(asker: string): Promise<void> {
    for (const approval of await this.#newApprovals(asker)) {
      this.#asked.add(approval.id)
      await this.#settle(approval)
    }
  }

  /** Asks again if the answer is not understood. */
  async #settle(approval: Approval): Promise<void> {
    for (;;) {
      const answer = await this.#askFor(approval)
      try {
        return await this.#approvals.answer(approval, answer)
      } catch (thrown) {
        if (asRockpoolError(thrown).code !== 'input-invalid' || this.#isOver) throw thrown
        this.#prompt.terminal.err(`${messageAndHint(thrown)}\n`)
      }
    }
  }

  async #newApprovals(asker: string): Promise<Approval[]> {
    for (let poll = 0; poll < maxPolls && !this.#isOver; poll++) {
      const pending = await this.#approvals.pending(asker)
      const fresh = pending.filter(({ id }) => !this.#asked.has(id))
      if (fresh.length > 0) return fresh
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
    return []
  }

  async #askFor(approval: Approval): Promise<Answer> {
    const { terminal, ask } = this.#prompt
    const { kind } = approval
    terminal.err(`${printRequest(approval, terminal)}\n`)
    if (!ask) {
      terminal.err(
        'Denied: there is no terminal to ask at. To allow it, add it to agents.defaults.allowedTools.\n',
      )
      return { decision: 'deny', text: 'there is no terminal to ask at' }
    }
    for (;;) {
      const answer = answerFrom(kind, await ask(`${questions[kind]} `))
      if (answer) return answer
    }
  }
}

export const questions: Readonly<Record<Approval['kind'], string>> = {
  tool: 'Allow? y(es), n(o), a(lways in this session):',
  question: 'Your answer (a number, several such as 1,2, or words):',
  budget: 'Continue? y(es), n(o), or an amount in dollars:',
  plan: 'Continue with this plan? y(es), n(o), or what to change:',
}

/** Undefined if the line is not an answer; the caller asks again. */
export function answerFrom(kind: string, line: string): Answer | undefined {
  const text = line.trim()
  if (text === '') return undefined
  if (kind === 'question') return { decision: 'allow', text }
  if (/^y(es)?$/i.test(text)) return { decision: 'allow' }
  if (/^n(o)?$/i.test(text)) return { decision: 'deny' }
  if (kind === 'plan') return { decision: 'deny', text }
  if (kind === 'budget') return { decision: 'allow', text }
  return /^a(lways)?$/i.test(text) ? { decision: 'allow', always: true } : undefined
}
