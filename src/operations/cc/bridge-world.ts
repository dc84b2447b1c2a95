// What the bridge shows to one session: data of exactly that session and its own agent, read at each call.
import { deliveryContextOf, type SessionEntry } from '../../domain/session.ts'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { OpenClawAnswer } from '../../channels/openclaw-link.ts'
import { parseOriginChannel, type Address } from '../../domain/address.ts'
import { openclawPrefix } from '../../domain/agent.ts'
import type { BridgeWorld, ConversationLine, MemoryHit, RecalledText } from '../../domain/bridge.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { maskTexts } from '../../domain/redact.ts'
import { parseOpenClawOrigin } from '../../domain/openclaw-contract.ts'
import type { OpenClawQuestion, OpenClawTarget } from '../../domain/openclaw-contract.ts'
import { contentText, type TranscriptEntry } from '../../domain/transcript.ts'
import { gatherProjectStatus } from '../../discovery/project-status.ts'
import { conversationRecords } from '../../discovery/conversation-records.ts'
import type { RecalledCut } from '../../discovery/trim/recall-cut.ts'
import { mayReceive } from '../../rights/chat-rights.ts'
import { readersOf } from '../../rights/owners.ts'
import { mayReadSession } from '../../rights/rights.ts'
import { createFileAtomically, ensureDirectory } from '../../store/disk/atomic-file.ts'
import { ancestorsOf } from '../../store/disk/process-identity.ts'
import type { App } from '../app.ts'
import { refuseForeignRepository } from '../coding/launch-rights.ts'
import { receiveMail, sendMail } from '../mail/mail-operations.ts'
import type { Caller } from '../operation.ts'
import { recall } from './recall.ts'
import { explain } from '../why/explain.ts'

/** The session that uses the bridge. */
export interface BridgeClient {
  agentId: string
  repoPath: string
  /** A chat session, or the chat session that launched a coding session. */
  sessionKey?: string
  /** A coding session of ours. */
  codingId?: string
  /** The calling process, in a session that Claude Code runs without Rockpool: a descendant of the session's process. */
  pid?: number
}

export function bridgeWorld(app: App, client: BridgeClient): BridgeWorld {
  const { agentId, repoPath } = client
  const coding = (): CodingSession | undefined => codingSession(app, client)
  const projectStatus: BridgeWorld['projectStatus'] = async () => {
    await checkRepositoryOf(app, client)
    const sources = { discovery: app.discovery(), variables: app.environment.variables, clock: app.clock }
    return gatherProjectStatus(sources, repoPath, agentId)
  }
  return {
    agentId,
    repoPath,
    task: async () => coding()?.request.prompt ?? (await nativeSession(app, client))?.firstMessage,
    conversation: (limit) => conversationOf(app, client, limit),
    searchMemory: (query, limit = 10) => searchMemory(app, client, query, limit),
    announce: (message) => announce(app, client, message),
    spending: () => spendingOf(app, client),
    projectStatus,
    recall: (handle, from) => recallFor(app, agentId, handle, from),
    sendMail: async (mail) => {
      const { id, state, recipient, recipientName } = await sendMail(app, mail, await mailCaller(app, client))
      return { id, state, recipient, recipientName }
    },
    receiveMail: async () => (await receiveMail(app, await mailCaller(app, client))).text,
    why: (target) => whyFor(app, client, target),
    sessions: async () => {
      const { sessions } = await app.discovery().list({ repoPath })
      return sessions.filter((session) => session.agentId === undefined || session.agentId === agentId)
    },
  }
}

/** A session writes as itself. */
async function mailCaller(app: App, client: BridgeClient): Promise<Caller> {
  const { agentId, sessionKey, codingId } = client
  const basis: Caller = { via: 'mcp', scopes: ['read', 'write'], agentId, name: `agent:${agentId}` }
  if (codingId !== undefined)
    return { ...basis, codingId, claudeSession: codingSession(app, client)?.sdkSessionId ?? codingId }
  return client.pid === undefined
    ? { ...basis, sessionKey }
    : {
        ...basis,
        agentId: undefined,
        claudeSession: (await nativeSession(app, client))?.sessionId ?? 'unknown',
      }
}

/** A session that a person started in a terminal has the rights of that person. */
function checkRepositoryOf(app: App, { agentId, repoPath, pid }: BridgeClient): Promise<void> {
  return refuseForeignRepository(app, repoPath, pid === undefined ? agentId : undefined)
}

/** In the repository of the session only. An agent learns about its own sessions; a session that a person started in a terminal
 *  also about others that a person started. */
async function whyFor(app: App, client: BridgeClient, target: string): Promise<Record<string, unknown>> {
  const { agentId, repoPath, pid } = client
  await checkRepositoryOf(app, client)
  const { root } = await (await app.repositories()).open(repoPath)
  const answer = await explain(
    app,
    { target, folder: repoPath },
    {
      mayRead: (session) =>
        mayReadSession(session, agentId) || (pid !== undefined && session.agentId === undefined),
      checkRepository: async (other) => {
        if (other !== root) throw new RockpoolError('not-found', `${target} is not in ${root}.`)
      },
    },
  )
  // Masking changes texts, and keeps the shape.
  return maskTexts(answer, app.redactor().everything) as typeof answer
}

const recalledChars = 40_000

/** From a session of this agent, or from one without an owner. The model reads images from files. */
async function recallFor(app: App, agentId: string, handle: string, from: number): Promise<RecalledText> {
  const request = { handle, from, limit: recalledChars }
  const { cut } = await recall(app, request, (session) => (session.agentId ?? agentId) === agentId)
  const { images, ...recalled } = cut
  return { ...recalled, images: await Promise.all(images.map((image, i) => saved(app, handle, image, i))) }
}

async function saved(
  app: App,
  handle: string,
  { mediaType, data }: RecalledCut['images'][number],
  i: number,
): Promise<RecalledText['images'][number]> {
  const ending = /^image\/(png|jpeg|gif|webp)$/.exec(mediaType)?.[1] ?? 'bin'
  const path = join(app.paths.claudeTemporary, `recalled-${handle}-${i}.${ending}`)
  await ensureDirectory(app.paths.claudeTemporary)
  await createFileAtomically(path, bytesOf(data))
  return { mediaType, path }
}

async function* bytesOf(data: string): AsyncGenerator<Buffer> {
  yield Buffer.from(data, 'base64')
}

/** By its id, and only if it belongs to this agent. */
function codingSession(app: App, { codingId, agentId }: BridgeClient): CodingSession | undefined {
  if (codingId === undefined) return undefined
  const found = app.storage.coding.get(codingId)
  return found?.request.agentId === agentId ? found : undefined
}

/** Found at each call, because a session has no transcript yet when its tools start. */
async function nativeSession(app: App, client: BridgeClient): Promise<DiscoveredSession | undefined> {
  if (client.pid === undefined) return undefined
  const above = ancestorsOf(client.pid)
  const { sessions } = await app.discovery().list({ repoPath: client.repoPath, running: true })
  return sessions.find(
    ({ pid, agentId }) =>
      pid !== undefined && above.includes(pid) && (agentId === undefined || agentId === client.agentId),
  )
}

/** A session key is valid only in the store of its own agent. */
async function chatEntry(app: App, client: BridgeClient): Promise<SessionEntry | undefined> {
  const key = client.sessionKey ?? codingSession(app, client)?.request.originSessionKey
  return key === undefined ? undefined : app.storage.sessions(client.agentId).get(key)
}

async function conversationOf(app: App, client: BridgeClient, limit: number): Promise<ConversationLine[]> {
  const target = openclawChat(app, client)
  if (target) {
    const { lines = [] } = await askOpenClaw(app, { kind: 'conversation', target, limit })
    return lines.slice(-limit)
  }
  const entry = await chatEntry(app, client)
  if (!entry) return claudeConversation(app, client, limit)
  const ref = { sessionId: entry.sessionId, file: entry.sessionFile || undefined }
  // Read more entries than wanted, because tool calls and notes are between the messages.
  const page = await app.storage.transcripts(client.agentId).tail(ref, limit * 8)
  return page.entries.flatMap(spokenEntry).slice(-limit)
}

function spokenEntry(entry: TranscriptEntry): ConversationLine[] {
  if (entry.type !== 'message') return []
  const { message } = entry
  if (message.role !== 'user' && message.role !== 'assistant') return []
  const text = contentText(message.content)
  return text === '' ? [] : [{ role: message.role, text, at: entry.timestamp }]
}

/** From Claude's own transcript, for a session without a chat of ours. */
async function claudeConversation(
  app: App,
  client: BridgeClient,
  limit: number,
): Promise<ConversationLine[]> {
  const session = (await nativeSession(app, client)) ?? (await transcriptOf(app, client))
  const lines: ConversationLine[] = []
  for await (const { kind, text, at } of session ? conversationRecords(session.filePath) : []) {
    if (kind !== 'prompt' && kind !== 'answer') continue
    const role = kind === 'prompt' ? 'user' : 'assistant'
    lines.push({ role, text, at: at > 0 ? new Date(at).toISOString() : undefined })
    if (lines.length > limit) lines.shift()
  }
  return lines
}

async function transcriptOf(app: App, client: BridgeClient): Promise<DiscoveredSession | undefined> {
  const sdkSessionId = codingSession(app, client)?.sdkSessionId
  if (sdkSessionId === undefined) return undefined
  const { sessions } = await app.discovery().list({ repoPath: client.repoPath })
  return sessions.find(({ sessionId }) => sessionId === sdkSessionId)
}

/** Only notes of this agent. */
async function searchMemory(
  app: App,
  client: BridgeClient,
  query: string,
  limit: number,
): Promise<MemoryHit[]> {
  const { agentId } = client
  const target = openclawChat(app, client)
  if (target) {
    const { hits = [] } = await askOpenClaw(app, { kind: 'memory', target, query, limit })
    return hits.slice(0, limit)
  }
  const { hits } = await app.search().search({ text: query, agentId, source: 'memory', limit })
  return hits.map(({ path, snippet }) => ({ source: path, text: snippet }))
}

/** The chat of OpenClaw in which the session was asked for. Its conversation and its agent's memory are OpenClaw's; Rockpool's
 *  own data belongs to other agents. */
function openclawChat(app: App, client: BridgeClient): OpenClawTarget | undefined {
  const target = parseOpenClawOrigin(codingSession(app, client)?.request.originChannel ?? '')
  if (!target || `${openclawPrefix}${target.agentId}` === client.agentId) return target
  throw new RockpoolError('refused', 'This session belongs to another agent than its chat in OpenClaw.')
}

async function askOpenClaw(app: App, question: Omit<OpenClawQuestion, 'id'>): Promise<OpenClawAnswer> {
  const answer = await app.openclaw.ask({ id: randomUUID(), ...question })
  if (answer && answer.error === undefined) return answer
  const why = answer
    ? `OpenClaw could not answer: ${answer.error}`
    : 'OpenClaw cannot be reached at the moment.'
  throw new RockpoolError('unavailable', why, { hint: 'Continue without it, or ask again later.' })
}

/** Stored in the outbox before it is acknowledged, so that it is delivered also after a crash. */
async function announce(
  app: App,
  client: BridgeClient,
  message: string,
): ReturnType<BridgeWorld['announce']> {
  const { config, storage, clock } = app
  const address = await addressOf(app, client)
  if (!address) return undefined
  await storage.people.ready()
  const readers = readersOf(() => config.channels, storage.people)
  const id = randomUUID()
  const sessionKey = client.sessionKey ?? codingSession(app, client)?.request.originSessionKey
  const delivery = {
    id,
    lane: sessionKey ?? `${address.channel}|${address.accountId}|${address.to}`,
    address,
    reply: { text: message },
    idempotencyKey: `announce:${id}`,
    // A coding session belongs to the owner, also if a reply to its announcement goes to the chat session that launched it.
    forOwner: client.codingId !== undefined || readers.isOwners(address),
    mirror: true,
    ...(codingSession(app, client)?.request.byProgram ? { writer: 'program' as const } : {}),
    sessionKey,
    createdAt: clock.now(),
  }
  if (!mayReceive(delivery, readers))
    return { withheld: 'The chat of this session may no longer get its messages.' }
  await storage.work.outbox.leave([delivery])
  return { deliveryId: id }
}

/** The chat that launched a coding session, else where the chat session's replies go. */
async function addressOf(app: App, client: BridgeClient): Promise<Address | undefined> {
  const request = codingSession(app, client)?.request
  const origin = request && parseOriginChannel(request.originChannel)
  if (origin) return { ...origin, threadId: request.originThreadId }
  const entry = await chatEntry(app, client)
  const { channel, to, accountId, threadId } = (entry && deliveryContextOf(entry)) ?? {}
  if (channel === undefined || to === undefined) return undefined
  const thread = threadId === undefined ? undefined : String(threadId)
  return { channel, to, accountId: accountId ?? 'default', threadId: thread }
}

async function spendingOf(app: App, client: BridgeClient): ReturnType<BridgeWorld['spending']> {
  const coding = codingSession(app, client)
  if (coding) return { costUsd: coding.costUsd, budgetUsd: coding.budgetUsd }
  const native = await nativeSession(app, client)
  if (native) return { costUsd: native.totalCostUsd ?? native.costUsd }
  return { costUsd: (await chatEntry(app, client))?.estimatedCostUsd ?? 0 }
}
