// `rockpool mail`: messages and how far each of them is.
import type { OutputOf } from '../rpc/client.ts'
import { ago, oneLine, pairs, styled, table, visible, wrapped } from './print.ts'
import type { Page, Printers, Style } from './print.ts'

type Mail = OutputOf<'mail.read'>

export const printers: Printers = {
  'mail.send': (mail, page) => receipt(mail, page),
  'mail.list': ({ mail }, page) => (mail.length === 0 ? nothingYet : mailTable(mail, page)),
  'mail.read': (mail, page) => [receipt(mail, page), '', wrapped(visible(mail.body), page, 2)].join('\n'),
  'mail.inbox': ({ text }) => visible(text),
  'mail.allow': ({ name, wake }) =>
    `${oneLine(name)} can be woken by: ${wake === 'never' ? 'no message' : wake}.`,
}

const nothingYet = 'No mail yet. Send some: rockpool mail send <session> "…"'
const styles: Record<Mail['state'], Style> = {
  accepted: 'yellow',
  delivered: 'cyan',
  read: 'green',
  expired: 'red',
}

function mailTable(mails: Mail[], page: Page): string {
  return table(page, mails, {
    ID: ({ id }) => id.slice(-6),
    STATE: { value: ({ state }) => state, style: ({ state }) => styles[state] },
    FROM: { value: ({ senderName }) => senderName, min: 8 },
    TO: { value: ({ recipientName }) => recipientName, min: 8 },
    SENT: ({ acceptedAt }) => ago(acceptedAt, page.now),
    TEXT: { value: ({ body }) => oneLine(body), min: 12 },
  })
}

function receipt(mail: Mail, page: Page): string {
  const at = (time: number | undefined): string | undefined =>
    time === undefined ? undefined : ago(time, page.now)
  const to = mail.deliveredTo === undefined ? '' : `, to ${oneLine(mail.deliveredTo)}`
  const delivered = at(mail.deliveredAt)
  return pairs(page, {
    Message: mail.id,
    From: `${oneLine(mail.senderName)} (${oneLine(mail.sender)})`,
    To: `${oneLine(mail.recipientName)} (${oneLine(mail.recipient)})`,
    State: styled(page, styles[mail.state], mail.state),
    Accepted: at(mail.acceptedAt),
    Delivered: delivered && `${delivered}${to}${mail.repeats > 0 ? ', possibly not for the first time' : ''}`,
    Read: at(mail.readAt),
    Expired: at(mail.expiredAt),
    Woke: at(mail.wokeAt),
    Waits: mail.state === 'accepted' && mail.note !== undefined ? oneLine(mail.note) : undefined,
  })
}
