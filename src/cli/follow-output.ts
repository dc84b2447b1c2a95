// `cc output --follow`: what a session says as it comes, what it asks, and a spinner while it works. Ends when the session does.
import { setTimeout as sleep } from 'node:timers/promises'
import type { OutputOf } from '../rpc/client.ts'
import { connectionTo, findGateway } from './call-operation.ts'
import type { OperationClient } from './call-operation.ts'
import type { Host } from './host.ts'
import { printRequest } from './print-approvals.ts'
import { safe, styled, visible } from './print.ts'
import { Spinner } from './spinner.ts'

type Output = OutputOf<'coding.output'>

const pollMs = 400

/** `first` was printed already. */
export async function followSession(client: OperationClient, host: Host, first: Output): Promise<void> {
  const view = new FollowView(host, first)
  const unsubscribe = await streamWords(host, first.id, (text) => view.add(text))
  try {
    for (let last = first; ;) {
      await view.showState(last, client)
      if (isOver(last)) return
      await sleep(pollMs)
      last = await client.call('coding.output', { session: first.id, after: last.lastSeq })
      view.showBlocks(last)
    }
  } finally {
    unsubscribe()
    view.end()
  }
}

function isOver({ lifecycle }: Output): boolean {
  return lifecycle === 'ended' || lifecycle === 'suspended'
}

/** The gateway passes words on while Claude writes them; without it they are read from the row, every second. */
async function streamWords(host: Host, id: string, onText: (text: string) => void): Promise<() => void> {
  const gateway = await findGateway(host.environment)
  if (!gateway) return () => {}
  const { GatewayClient } = await import('../rpc/client.ts')
  const client = new GatewayClient(connectionTo(host.environment, gateway))
  client.subscribe(
    'coding',
    { id },
    { event: (event) => (event.type === 'coding-writing' ? onText(event.text) : undefined) },
  )
  return () => client.close()
}

class FollowView {
  #host: Host
  #spinner: Spinner
  /** The text block that Claude is writing, as far as it is on the screen. */
  #writing: string
  #atLineStart = true
  #asked = new Set<string>()

  constructor(host: Host, { writing = '' }: Output) {
    this.#host = host
    this.#spinner = new Spinner(host.terminal, () => host.now())
    this.#writing = writing
  }

  add(text: string): void {
    this.#writing += text
    this.#out(text)
  }

  /** Prints what the stored blocks have and the screen has not. */
  showBlocks({ result, writing = '' }: Output): void {
    if (result !== '') {
      const shown = this.#writing
      const isContinued = result.startsWith(shown.trimEnd())
      this.#writing = shown.startsWith(result) ? shown.slice(result.length) : ''
      if (!isContinued && this.#writing === '') this.#newLine()
      if (this.#writing === '') this.#out(isContinued ? result.slice(shown.trimEnd().length) : result)
      this.#newLine()
    }
    if (writing.length > this.#writing.length && writing.startsWith(this.#writing))
      this.add(writing.slice(this.#writing.length))
  }

  /** A spinner while it works; each request once, with the command that answers it. */
  async showState({ id, name, state, stateText }: Output, { call }: OperationClient): Promise<void> {
    if (state === 'working' && this.#atLineStart) this.#spinner.show(`${state}: ${stateText}`)
    else this.#spinner.hide()
    if (state !== 'needs you') return
    const { approvals } = await call('approvals.list', {})
    for (const approval of approvals) {
      if (approval.codingId !== id || this.#asked.has(approval.id)) continue
      this.#asked.add(approval.id)
      this.#newLine()
      const { terminal } = this.#host
      const how = safe`${name} waits for you: rockpool cc approve ${approval.id}, or rockpool cc deny ${approval.id}`
      terminal.err(`${printRequest(approval, terminal)}\n${styled(terminal, 'dim', how)}\n`)
    }
  }

  end(): void {
    this.#spinner.hide()
    this.#newLine()
  }

  #out(text: string): void {
    if (text === '') return
    this.#spinner.hide()
    this.#host.terminal.out(visible(text))
    this.#atLineStart = text.endsWith('\n')
  }

  #newLine(): void {
    if (!this.#atLineStart) this.#out('\n')
  }
}
