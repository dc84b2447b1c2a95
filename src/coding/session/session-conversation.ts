// The agent's process for one coding session: Claude's, or the one of another program. It starts with the first turn. While the
// session waits for a message, the process may be closed to stay below `coding.maxSessions`; the next message starts it again.
import { randomUUID } from 'node:crypto'
import type { AgentRuntime, AskPermission, BeforeTool } from '../../domain/agent.ts'
import type { Conversation, ConversationEnd, ConversationOptions } from '../../domain/agent.ts'
import { kindOf, type CodingSession } from '../../domain/coding-session.ts'
import type { TrimSaving } from '../../domain/trim.ts'
import { toolsOf } from '../../rights/tools.ts'
import type { AgentParts, SessionParts } from '../coding-parts.ts'
import type { LiveRecord } from './live-record.ts'
import { originTag } from './origin.ts'

const continuedByOthers = 'Another process continued this session. Resuming it with the messages from there.'

type Continuation = Pick<ConversationOptions, 'resume' | 'newSdkSessionId'>

interface ConversationHooks {
  askPermission: AskPermission
  beforeTool: BeforeTool
  /** Adds a notice for people to the output. */
  addNotice: (text: string) => void
  /** Called before a process starts. */
  makeRoom: () => Promise<void>
  /** The process ended by itself. */
  onExit: (end: ConversationEnd) => void
}

export class SessionConversation {
  #parts: SessionParts
  #record: LiveRecord
  #hooks: ConversationHooks
  #opening: Promise<Conversation> | undefined
  #open: Conversation | undefined
  #parked = new WeakSet<Conversation>()

  constructor(parts: SessionParts, record: LiveRecord, hooks: ConversationHooks) {
    this.#parts = parts
    this.#record = record
    this.#hooks = hooks
  }

  /** Undefined before the process has started. */
  get current(): Conversation | undefined {
    return this.#open
  }

  /** Starts the process if there is none. Checks before every turn whether another process continues the conversation: with two
   *  writers, each loses turns of the other. */
  async ready(): Promise<Conversation> {
    const other = this.#open?.otherWriter()
    if (other) await this.park()
    if (other && !other.isOpen) this.#hooks.addNotice(continuedByOthers)
    this.#open = await (this.#opening ??= this.#start())
    return this.#open
  }

  /** Ends a process that is just starting as soon as it has started. */
  async kill(): Promise<void> {
    const started = await this.#opening?.catch(() => undefined)
    await started?.kill()
  }

  /** Lets Claude finish its transcript first. */
  async close(): Promise<void> {
    const started = await this.#opening?.catch(() => undefined)
    await started?.close()
  }

  /** Ends the process; the next turn resumes the conversation in another one. */
  async park(): Promise<void> {
    const open = this.#open
    if (!open) return
    this.#parked.add(open)
    this.#open = undefined
    this.#opening = undefined
    await open.close()
  }

  async #start(): Promise<Conversation> {
    const { session } = this.#record
    const { askPermission, beforeTool, makeRoom, onExit } = this.#hooks
    await makeRoom()
    const runtime = await this.#parts.agents.runtime(kindOf(session))
    const options = conversationOptions(session, this.#parts.agents)
    const copy = (await this.#trimmedCopy()) ?? (await this.#forkIfOpen(runtime))
    const conversation = await runtime.open({ ...options, ...copy, askPermission, beforeTool })
    const notice = session.turns === 0 ? runtime.notice?.(options.permissionMode) : undefined
    if (notice !== undefined) this.#hooks.addNotice(notice)
    const { id: coding, name } = session
    this.#parts.log.info({ event: 'coding-started', coding, name }, 'A coding session started.')
    void conversation.ended.then((end) => {
      if (!this.#parked.has(conversation)) onExit(end)
    })
    return conversation
  }

  /** The copy has the id that a fork would get, so that a second attempt after a crash finds it. */
  async #trimmedCopy(): Promise<Continuation | undefined> {
    const { sdkSessionId, newSdkSessionId, request } = this.#record.session
    const { resume } = request
    if (sdkSessionId !== undefined || newSdkSessionId === undefined || resume?.trim === undefined)
      return undefined
    const saving = await this.#parts.agents.trim(resume.sdkSessionId, resume.trim, newSdkSessionId)
    this.#hooks.addNotice(saving ? trimNotice(saving) : 'There was nothing to trim; continuing in a fork.')
    return saving && { resume: { sdkSessionId: newSdkSessionId }, newSdkSessionId: undefined }
  }

  /** A conversation that is open elsewhere is forked; the fork gets a new id. */
  async #forkIfOpen(runtime: AgentRuntime): Promise<Continuation> {
    const { sdkSessionId } = this.#record.session
    if (sdkSessionId === undefined) return {}
    const found = await runtime.resumable(sdkSessionId)
    if (found.ok || found.why !== 'in-use') return {}
    this.#hooks.addNotice(
      `${found.reason} Continuing in a fork of it, so that the two do not lose each other's turns.`,
    )
    return { resume: { sdkSessionId, fork: true }, newSdkSessionId: randomUUID() }
  }
}

function trimNotice({ cuts, tokensBefore, tokensAfter }: TrimSaving): string {
  const thousands = (tokens: number): string => `${Math.round(tokens / 1_000)}k`
  return `Continuing in a trimmed copy: ${cuts} old results cut, about ${thousands(tokensAfter)} instead of ${thousands(tokensBefore)} tokens. The tool recall_lost gives each of them back.`
}

/** The options of the launch as options of the agent. */
export function conversationOptions(
  session: CodingSession,
  { agentOf, toolsFor }: Pick<AgentParts, 'agentOf' | 'toolsFor'>,
): Omit<ConversationOptions, 'askPermission' | 'beforeTool'> {
  const { id, name, request, sdkSessionId, newSdkSessionId } = session
  return {
    key: `coding:${id}`,
    agent: agentOf(request.agentId),
    cwd: request.workdir,
    model: request.model,
    resume: sdkSessionId ? { sdkSessionId } : request.resume,
    newSdkSessionId: sdkSessionId ? undefined : newSdkSessionId,
    systemPromptAppend: request.systemPrompt,
    permissionMode: request.permissionMode,
    allowedTools: request.allowedTools,
    toolRights: toolsOf('coding'),
    thinkingLevel: request.thinking,
    tools: toolsFor(session),
    // A continued conversation keeps its title: Claude's own, or one that a person gave it.
    title: sdkSessionId || (request.resume && !request.resume.fork) ? undefined : name,
    tag: originTag(request),
    // Never evicted in favour of other conversations: only its own session ends it.
    pinned: true,
  }
}
