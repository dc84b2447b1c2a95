// The name under which a message is known for ever. Platforms repeat what they think we have not received; the name
// decides, not the time. The inbox keeps it for seven days.
import type { Message } from '../domain/message.ts'

/** Channel, account, chat and the platform's own id; parts are encoded, so that no id can pretend to be two. */
export function messageKey(message: Pick<Message, 'id' | 'address'>): string {
  const { address, id } = message
  return [address.channel, address.accountId, address.to, id].map(encodeURIComponent).join('|')
}
