// Messages between sessions, chats and people, each with its receipt.
import type { OutputOf } from '../../../src/rpc/client.ts'
import { clock, visible } from '../format.ts'
import type { RockpoolEvent } from '../gateway.ts'
import { Link } from './link.tsx'

export type MailRow = OutputOf<'mail.list'>['mail'][number]

/** Events after which a receipt may be another one. */
export function changesMail({ type }: RockpoolEvent): boolean {
  return type === 'mail-changed' || type === 'coding-changed'
}

export function MailLines({ mail, label }: { mail: MailRow[]; label: string }) {
  return (
    <ul class="mail-lines" aria-label={label}>
      {mail.map((row) => (
        <li key={row.id}>
          <p class="mail-about">
            <Party address={row.sender} name={row.senderName} /> <span class="faint">to</span>{' '}
            <Party address={row.recipient} name={row.recipientName} />
            <Receipt mail={row} />
          </p>
          <p class="mail-body">{visible(row.body)}</p>
          {row.note && <p class="faint">{visible(row.note)}</p>}
        </li>
      ))}
    </ul>
  )
}

/** A session is opened by its address: the first session of its lineage. */
function Party({ address, name }: { address: string; name: string }) {
  const [, id] = /^session:(.+)$/.exec(address) ?? []
  if (id === undefined) return <span>{visible(name)}</span>
  return <Link to={{ view: 'session', id }}>{visible(name)}</Link>
}

function Receipt({ mail }: { mail: MailRow }) {
  const { state, repeats } = mail
  const at = mail.expiredAt ?? mail.readAt ?? mail.deliveredAt ?? mail.acceptedAt
  return (
    <span class="receipt" title={stepsOf(mail)}>
      <span class={`chip mail-${state}`}>{state}</span>{' '}
      <time>{clock(state === 'accepted' ? mail.acceptedAt : at)}</time>
      {repeats > 0 && <span class="faint"> possibly repeated</span>}
    </span>
  )
}

function stepsOf({ acceptedAt, deliveredAt, readAt, expiredAt }: MailRow): string {
  const steps = { accepted: acceptedAt, delivered: deliveredAt, read: readAt, expired: expiredAt }
  return Object.entries(steps)
    .flatMap(([step, at]) => (at === undefined ? [] : `${step} ${clock(at)}`))
    .join(', ')
}
