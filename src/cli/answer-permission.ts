// A turn that is shown in a terminal may need a permission. Whoever sits there is asked; where nobody sits, the answer is
// no, and says so, instead of waiting for a person who does not know of it.
import { asRockpoolError } from '../domain/errors.ts'
import type { TurnEvent } from '../domain/turn.ts'
import { styled, visible } from './print.ts'
import type { Terminal } from './terminal.ts'

export interface OpenQuestion {
  id: string
  kind: string
  toolName: string
  shown: string
  inputHash: string
  sessionKey?: string
}

export type Decision = { decision: 'allow' | 'deny'; text?: string; always?: boolean }

/** Where questions of a turn are found and answered: here, or in the gateway. */
export interface QuestionDesk {
  open(sessionKey: string): Promise<OpenQuestion[]>
  answer(question: OpenQuestion, decision: Decision): Promise<void>
}

export interface Person {
  terminal: Terminal
  /** Asks and waits for a line; absent without a terminal. */
  ask?: (question: string) => Promise<string>
}

const lookMs = 100
/** The question is written down right after the turn says that it waits. */
const looks = 50

export class PermissionPrompt {
  #desk: QuestionDesk
  #person: Person
  #asked = new Set<string>()
  #asking: Promise<void> = Promise.resolve()
  #isOver = false

  constructor(desk: QuestionDesk, person: Person) {
    this.#desk = desk
    this.#person = person
  }

  /** One question after the other, however many come. */
  see(event: TurnEvent, sessionKey: string): void {
    if (event.type !== 'waiting' || event.for === 'input') return
    this.#asking = this.#asking
      .then(() => this.#askAll(sessionKey))
      .catch((error: unknown) => {
        this.#person.terminal.err(`${error instanceof Error ? error.message : String(error)}\n`)
      })
  }

  /** The turn is over: what it waited for no longer matters. */
  stop(): void {
    this.#isOver = true
  }

  async #askAll(sessionKey: string): Promise<void> {
    for (const question of await this.#newQuestions(sessionKey)) {
      this.#asked.add(question.id)
      await this.#settle(question)
    }
  }

  /** An answer that cannot be understood is asked for again. */
  async #settle(question: OpenQuestion): Promise<void> {
    for (;;) {
      const decision = await this.#decide(question)
      try {
        return await this.#desk.answer(question, decision)
      } catch (thrown) {
        const { code, message, hint } = asRockpoolError(thrown)
        if (code !== 'input-invalid' || this.#isOver) throw thrown
        this.#person.terminal.err(`${[message, hint].filter(Boolean).join(' ')}\n`)
      }
    }
  }

  async #newQuestions(sessionKey: string): Promise<OpenQuestion[]> {
    for (let look = 0; look < looks && !this.#isOver; look++) {
      const open = await this.#desk.open(sessionKey)
      const fresh = open.filter(({ id }) => !this.#asked.has(id))
      if (fresh.length > 0) return fresh
      await new Promise((resolve) => setTimeout(resolve, lookMs))
    }
    return []
  }

  async #decide(question: OpenQuestion): Promise<Decision> {
    const { terminal, ask } = this.#person
    const page = { width: terminal.width, color: terminal.color, now: 0 }
    terminal.err(`${styled(page, 'yellow', `🔐 ${question.toolName}`)}\n${visible(question.shown)}\n`)
    if (!ask) {
      terminal.err(
        'Denied: there is no terminal to ask at. To allow it, add it to agents.defaults.allowedTools.\n',
      )
      return { decision: 'deny', text: 'there is no terminal to ask at' }
    }
    for (;;) {
      const decision = decisionFrom(question.kind, await ask(`${choices[question.kind] ?? choices['tool']} `))
      if (decision) return decision
    }
  }
}

const choices: Readonly<Record<string, string>> = {
  tool: 'Allow? y(es), n(o), a(lways in this session):',
  question: 'Your answer (a number, several such as 1,2, or words):',
  budget: 'Go on? y(es), n(o), or an amount in dollars:',
  plan: 'Go on with this plan? y(es), n(o), or what to change:',
}

/** Undefined if the line is not an answer; the caller asks again. */
export function decisionFrom(kind: string, line: string): Decision | undefined {
  const said = line.trim()
  if (said === '') return undefined
  if (kind === 'question') return { decision: 'allow', text: said }
  if (/^y(es)?$/i.test(said)) return { decision: 'allow' }
  if (/^n(o)?$/i.test(said)) return { decision: 'deny' }
  if (kind === 'plan') return { decision: 'deny', text: said }
  if (kind === 'budget') return { decision: 'allow', text: said }
  return /^a(lways)?$/i.test(said) ? { decision: 'allow', always: true } : undefined
}
