// Shows the permission dialog of a terminal session everywhere else at the same time: on the page, in the owner's chats and on
// the owner's devices. The first answer wins, here or in the terminal, and the other places show that. Rules of the owner apply.
import { permissionKind } from '../agent/permissions.ts'
import { approvalReply } from '../coding/approvals/approval-reply.ts'
import { answeredInTerminal } from '../coding/approvals/approvals.ts'
import type { Approvals, Question } from '../coding/approvals/approvals.ts'
import type { PermissionAnswer } from '../domain/agent.ts'
import type { Approval } from '../domain/coding-session.ts'
import type { ClaudeHookAnswer, ClaudeHookContributor, ClaudeHookEvent } from '../domain/claude-hook.ts'
import type { Events } from '../domain/events.ts'
import { nativeKey } from '../domain/native-key.ts'
import type { Reply } from '../domain/reply.ts'

interface RelayParts {
  approvals: () => Pick<Approvals, 'ask' | 'get'>
  events: Events
  /** The name of the session for people. */
  nameOf: (event: ClaudeHookEvent) => Promise<string>
  /** Does the terminal of the session show a dialog, by Claude's registry? */
  isWaiting: (sessionId: string) => boolean
  /** The owner wants the dialogs of this session in its terminal only. */
  isQuiet: (sessionId: string) => boolean
  /** Sends a message to each chat of the owner, once for each key. */
  tell: (reply: Reply, key: string) => void
}

/** A dialog that is open in a terminal. */
interface Dialog {
  sessionId: string
  subagentId?: string
  /** The registry has said that the session waits. It may say so later than the hook. */
  wasSeen: boolean
  closed: AbortController
}

/** Each shows that a dialog of the session is closed. */
const laterEvents = ['PostToolBatch', 'Stop', 'StopFailure', 'SessionStart', 'SessionEnd'] as const

export function relayPermissions(parts: RelayParts): ClaudeHookContributor {
  const relay = new PermissionRelay(parts)
  return {
    name: 'permission relay',
    events: ['PermissionRequest', ...laterEvents],
    async answer(event, signal) {
      if (event.name === 'PermissionRequest') return relay.ask(event, signal)
      relay.continued(event)
      return undefined
    },
  }
}

class PermissionRelay {
  readonly #parts: RelayParts
  readonly #open = new Set<Dialog>()

  constructor(parts: RelayParts) {
    this.#parts = parts
    parts.events.on((event) => {
      if (event.type === 'native-changed') this.#registryChanged(event.sessionId)
    })
  }

  /** Undefined if the terminal decides: there is no person to ask elsewhere, or the person at the terminal was faster. */
  async ask(event: ClaudeHookEvent, signal: AbortSignal): Promise<ClaudeHookAnswer | undefined> {
    const question = await this.#questionOf(event)
    if (!question) return undefined
    const { sessionId, subagentId } = event
    const dialog = { sessionId, subagentId, wasSeen: false, closed: new AbortController() }
    // The terminal ends the hook when a person says no there.
    signal.addEventListener('abort', () => dialog.closed.abort(signal.reason))
    this.#open.add(dialog)
    const asked: Approval[] = []
    const onAsked = (approval: Approval): void => {
      asked.push(approval)
      this.#parts.tell(approvalReply(`[${question.nativeName}]`, approval), `approval:${approval.id}`)
    }
    try {
      const answer = await this.#parts.approvals().ask(question, dialog.closed.signal, onAsked)
      return this.#isOpen(asked) ? { decision: decisionOf(answer) } : undefined
    } finally {
      this.#open.delete(dialog)
    }
  }

  /** Events that show that a dialog is closed, because the session continues. The dialog of a sub-agent is closed by an event of
   *  that sub-agent, or by the end of the session. */
  continued({ name, sessionId, subagentId }: ClaudeHookEvent): void {
    for (const dialog of this.#open) {
      const isMeant = name !== 'PostToolBatch' || dialog.subagentId === subagentId
      if (dialog.sessionId === sessionId && isMeant) dialog.closed.abort(answeredInTerminal)
    }
  }

  #registryChanged(sessionId: string): void {
    for (const dialog of this.#open) {
      if (dialog.sessionId !== sessionId) continue
      if (this.#parts.isWaiting(sessionId)) dialog.wasSeen = true
      else if (dialog.wasSeen) dialog.closed.abort(answeredInTerminal)
    }
  }

  async #questionOf(event: ClaudeHookEvent): Promise<Question | undefined> {
    const { sessionId, subagentId, toolName, toolInput: input, cwd, isTerminal } = event
    // A program that started the session without a terminal expects a quick no.
    if (!isTerminal || toolName === undefined || !input || this.#parts.isQuiet(sessionId)) return undefined
    const nativeName = await this.#parts.nameOf(event)
    const request = { requestId: '', kind: permissionKind(toolName), toolName, input, cwd, subagentId }
    return { sessionKey: nativeKey(sessionId), nativeName, agentId: '', request }
  }

  /** False if the question expired: no decision is sent, and the dialog stays as it is. The chats learn who answered. */
  #isOpen(asked: Approval[]): boolean {
    const last = asked.at(-1)
    // A rule has answered.
    if (!last) return true
    const settled = this.#parts.approvals().get(last.id)
    if (settled?.state !== 'expired') return true
    if (settled.answeredBy === answeredInTerminal) {
      const text = `⌨️ [${last.nativeName}] was answered in the terminal (${last.id}).`
      this.#parts.tell({ text }, `approval:${last.id}:terminal`)
    }
    return false
  }
}

function decisionOf(answer: PermissionAnswer): ClaudeHookAnswer['decision'] {
  if (answer.behavior === 'allow') return { behavior: 'allow', updatedInput: answer.updatedInput }
  return { behavior: 'deny', message: answer.message, interrupt: answer.interrupt }
}
