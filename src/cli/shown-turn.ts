// One question to an agent at a terminal: shows the turn while it runs, asks its requests, and stops it on Ctrl-C.
import type { OutputOf } from '../rpc/client.ts'
import { PermissionPrompt } from './answer-permission.ts'
import type { Prompt } from './answer-permission.ts'
import type { AgentClient, Question } from './ask-agent.ts'
import type { Host } from './host.ts'
import { TurnView } from './turn-view.ts'

/** The exit code of a program that Ctrl-C ended. */
const interruptedCode = 130

export class ShownTurn {
  #client: AgentClient
  #view: TurnView | undefined
  #permissions: PermissionPrompt
  #sessionKey: string | undefined
  #isStopping = false

  /** `silent`: shows nothing of the turn. */
  constructor(
    client: AgentClient,
    host: Pick<Host, 'terminal' | 'now'>,
    { ask, silent = false }: Pick<Prompt, 'ask'> & { silent?: boolean },
  ) {
    this.#client = client
    this.#view = silent ? undefined : new TurnView(host.terminal, () => host.now())
    this.#permissions = new PermissionPrompt(client, { terminal: host.terminal, ask })
  }

  async ask(question: Question): Promise<OutputOf<'turns.run'>> {
    let text = ''
    try {
      const answer = await this.#client.ask(question, {
        begun: (sessionKey) => (this.#sessionKey = sessionKey),
        event: (event, sessionKey) => {
          // Ctrl-C came before the turn existed.
          if (this.#isStopping) this.#stopNow(sessionKey)
          this.#view?.see(event)
          this.#permissions.see(event, sessionKey)
        },
      })
      text = answer.text
      return answer
    } finally {
      this.#permissions.stop()
      this.#view?.end(text)
    }
  }

  /** Stops the turn; the second time it ends the program. */
  stop(): void {
    if (this.#isStopping) process.exit(interruptedCode)
    this.#isStopping = true
    if (this.#sessionKey !== undefined) this.#stopNow(this.#sessionKey)
  }

  #stopNow(sessionKey: string): void {
    // Without a connection the question fails by itself.
    this.#client.stop(sessionKey).catch(() => {})
  }
}
