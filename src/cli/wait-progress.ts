// `cc launch --wait` and `cc resume --wait`: what the session does while the command waits. A person at the terminal answers what
// it asks; without a terminal the request is printed at once, with the command that answers it.
import { approvalsOf, askLine, PermissionPrompt } from './answer-permission.ts'
import type { OperationClient } from './call-operation.ts'
import type { Host } from './host.ts'
import { printRequest } from './print-approvals.ts'
import type { CodingRow } from './print-coding.ts'
import { safe } from './print.ts'
import { Spinner } from './spinner.ts'

const pollMs = 500

/** Finds the session that was just started by its prompt, because its id is known only at the end. Returns a function that ends
 *  the progress. */
export function waitWithProgress(
  client: OperationClient,
  host: Host,
  command: { prompt: unknown; json: boolean },
): () => void {
  const since = host.now()
  const progress = new WaitProgress(client, host, command.json)
  const poll = async (): Promise<void> => {
    const { sessions } = await client.call('coding.sessions', { limit: 20 })
    const row = sessions.find((one) => one.createdAt >= since && one.prompt === command.prompt)
    if (row) await progress.show(row)
  }
  // A failed poll is ignored: the command itself reports the error.
  const timer = setInterval(() => void poll().catch(() => {}), pollMs)
  return () => {
    clearInterval(timer)
    progress.end()
  }
}

class WaitProgress {
  #client: OperationClient
  #host: Host
  #spinner: Spinner
  #prompt: PermissionPrompt | undefined
  #seen = new Set<string>()
  #isOver = false

  constructor(client: OperationClient, host: Host, json: boolean) {
    this.#client = client
    this.#host = host
    this.#spinner = new Spinner(host.terminal, () => host.now())
    const { terminal } = host
    if (terminal.canAsk && !json)
      this.#prompt = new PermissionPrompt(approvalsOf(client.call, 'codingId'), { terminal, ask: askLine })
  }

  async show(row: CodingRow): Promise<void> {
    if (this.#isOver) return
    if (row.state === 'working') this.#spinner.show(`${row.name}: ${row.stateText}`)
    else this.#spinner.hide()
    const id = row.waiting?.approvalId
    if (id === undefined || this.#seen.has(id)) return
    this.#seen.add(id)
    if (this.#prompt) this.#prompt.see({ type: 'waiting', for: 'permission' }, row.id)
    else await this.#printHow(row, id)
  }

  end(): void {
    this.#isOver = true
    this.#spinner.hide()
    this.#prompt?.stop()
  }

  async #printHow({ name, waiting }: CodingRow, id: string): Promise<void> {
    const { terminal } = this.#host
    const { approvals } = await this.#client.call('approvals.list', {})
    const asked = approvals.find((approval) => approval.id === id)
    const text = waiting?.for === 'answer' ? ' --text <answer>' : ''
    if (asked) terminal.err(`${printRequest(asked, terminal)}\n`)
    terminal.err(
      safe`${name} waits for you. Allow: rockpool cc approve ${id}${text}   Deny: rockpool cc deny ${id}`,
    )
    terminal.err('\n')
  }
}
