// Sessions of one chat that ask exactly the same: whoever answers one of them there may answer all that he was shown.
import type { Approval, CodingSession } from '../../domain/coding-session.ts'
import type { Approvals } from './approvals.ts'
import { isSameOrigin } from '../session/origin.ts'

interface Parts {
  approvals: Pick<Approvals, 'alike'>
  store: { get(id: string): CodingSession | undefined }
}

/** The sessions that asked the same in the same chat up to now, this one last. */
export function askingAlike(
  { approvals, store }: Parts,
  approval: Approval,
  { originChannel }: CodingSession['request'],
): string[] {
  const isMeant = shownWith(store, originChannel)
  return approvals
    .alike(approval)
    .filter((other) => isMeant(other, approval))
    .map(({ codingId }) => nameOf(store, codingId))
}

/** Whether a question was put to the chat before the one that is answered, or is this one: only those did he see. */
export function shownWith(
  store: Parts['store'],
  originChannel: string,
): (other: Approval, named: Approval) => boolean {
  return (other, named) =>
    other.askedAt <= named.askedAt &&
    isSameOrigin(store.get(other.codingId ?? '')?.request.originChannel ?? '', originChannel)
}

function nameOf(store: Parts['store'], codingId: string | undefined): string {
  return store.get(codingId ?? '')?.name ?? codingId ?? ''
}
