// Notifies the owner's devices when a session needs the owner: it asks, has failed, has finished its turn, or
// a usage limit stopped it. Each goes through
// the outbox under a key that names the event and the device, so that each device gets it once, also after a crash.
import { randomUUID } from 'node:crypto'
import type { Clock } from '../domain/clock.ts'
import type { Approval, CodingSession } from '../domain/coding-session.ts'
import { isLimited } from '../domain/coding-state.ts'
import { addressOfDevice } from '../domain/device.ts'
import type { Device } from '../domain/device.ts'
import type { Events, RockpoolEvent } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { Delivery, Reply } from '../domain/reply.ts'
import { requestHeading } from '../domain/request-heading.ts'
import type { ApprovalStore } from '../store/sqlite/approval-store.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'
import { approvalReply, withVisibleControls } from './approvals/approval-reply.ts'

interface DeviceNoticeParts {
  events: Events
  store: Pick<CodingStore, 'get' | 'lastOutput'>
  approvals: Pick<ApprovalStore, 'get' | 'pending'>
  devices: () => Device[]
  /** Puts deliveries into the outbox, once for each key. */
  leave: (deliveries: Delivery[]) => Promise<void>
  clock: Clock
  log: Log
}

/** Returns the function that stops it. Sends requests from the time without a gateway now. */
export function notifyDevices(parts: DeviceNoticeParts): () => void {
  for (const approval of parts.approvals.pending()) void notify(parts, noticeOfApproval(parts, approval))
  return parts.events.on((event) => void notify(parts, noticeOf(parts, event)))
}

interface Notice {
  /** The session that the notice is about. */
  sessionKey?: string
  /** The key of the event. Each device gets one notification for each key. */
  key: string
  reply: Reply
}

function noticeOf(parts: DeviceNoticeParts, event: RockpoolEvent): Notice | undefined {
  if (event.type === 'approval-changed' && event.state === 'pending') {
    const approval = parts.approvals.get(event.id)
    return approval && noticeOfApproval(parts, approval)
  }
  if (event.type !== 'coding-changed') return undefined
  const session = parts.store.get(event.id)
  return session && noticeOfSession(parts, session)
}

function noticeOfApproval({ store }: DeviceNoticeParts, approval: Approval): Notice | undefined {
  const { codingId, sessionKey, nativeName } = approval
  const session = codingId === undefined ? undefined : store.get(codingId)
  const name = session?.name ?? nativeName
  if (name === undefined) return undefined
  const heading = `${name} ${requestHeading(approval)}`
  const shown = withVisibleControls(approval.shown)
  const [first = []] = approvalReply(name, approval).buttons ?? []
  // A choice between options needs their descriptions, which only the dashboard shows.
  const buttons = approval.kind === 'question' ? undefined : [first]
  return {
    sessionKey: session ? `coding:${session.id}` : sessionKey,
    key: `approval:${approval.id}`,
    reply: { text: `${heading}\n${shown}`, buttons },
  }
}

function noticeOfSession({ store }: DeviceNoticeParts, session: CodingSession): Notice | undefined {
  const { id, name, turns, lifecycle, status, end } = session
  const sessionKey = `coding:${id}`
  if (lifecycle === 'ended' && status === 'failed') {
    const text = `${name} failed\n${end?.message ?? ''}`
    return { sessionKey, key: `failed:${id}:${turns}`, reply: { text } }
  }
  if (isLimited(session)) {
    const text = `${name} is limited\n${end?.message ?? ''}`
    return { sessionKey, key: `limited:${id}:${turns}`, reply: { text } }
  }
  const isDone = lifecycle === 'awaiting-input' || (lifecycle === 'ended' && status === 'completed')
  if (!isDone || turns === 0) return undefined
  const words = store.lastOutput(id, 20).findLast(({ kind }) => kind === 'text')
  return {
    sessionKey,
    key: `ready:${id}:${turns}`,
    reply: { text: `${name} is ready\n${words?.text ?? ''}` },
  }
}

async function notify(parts: DeviceNoticeParts, notice: Notice | undefined): Promise<void> {
  if (!notice) return
  try {
    const { sessionKey, key, reply } = notice
    const deliveries = parts.devices().map(({ id }): Delivery => ({
      id: randomUUID(),
      lane: `device:${id}`,
      address: addressOfDevice(id),
      reply,
      idempotencyKey: `device:${id}:${key}`,
      sessionKey,
      createdAt: parts.clock.now(),
    }))
    if (deliveries.length > 0) await parts.leave(deliveries)
  } catch (error) {
    parts.log.error(
      { event: 'device-notice-failed', notice: notice.key, error: String(error) },
      'Could not queue a notification for the devices of the owner; they do not get it.',
    )
  }
}
