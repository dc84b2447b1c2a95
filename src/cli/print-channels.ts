// Channels and pairings.
import type { OutputOf } from '../rpc/client.ts'
import { ago, numbered, prose, safe, styled, table, visible, wrapped } from './print.ts'
import type { Page, Printers, Style } from './print.ts'

export const printers: Printers = {
  'channels.add': ({ channel, identity, next }, page) => {
    const done = `${channel} is set up${identity ? safe` as ${identity.name}` : ''}.`
    return [styled(page, 'green', done), 'What to do next:', numbered(next, page)].join('\n')
  },
  'channels.list': printChannels,
  'channels.status': printChannels,
  'devices.list': printDevices,
  'pairing.list': printPairings,
}

const stateStyles: Readonly<Record<string, Style>> = {
  connected: 'green',
  reconnecting: 'yellow',
  failed: 'red',
}

function printChannels({ running, channels }: OutputOf<'channels.list'>, page: Page): string {
  const rows = table(page, channels, {
    CHANNEL: { value: (row) => row.channel, min: 8 },
    ACCOUNT: { value: (row) => row.accountId, min: 7, optional: true },
    STATE: {
      min: 12,
      value: (row) => (row.enabled ? (running ? row.state : 'not running') : 'off'),
      style: (row) => stateStyles[row.state],
    },
    SINCE: { value: (row) => ago(row.since, page.now), min: 7, optional: true },
    AS: (row) => row.identity?.name ?? '',
    TOKEN: { value: (row) => row.token ?? '', min: 6, optional: true },
  })
  const troubles = channels.flatMap((row) => {
    // The detail is the content of the QR code, which only a phone can read.
    const what =
      row.needs?.kind === 'qr'
        ? 'a QR code waits: `rockpool channels add whatsapp`'
        : (row.needs?.detail ?? row.lastError)
    return what === undefined
      ? []
      : [wrapped(`${styled(page, 'yellow', `${row.channel} (${row.accountId})`)}: ${visible(what)}`, page)]
  })
  const idle = running ? [] : ['No gateway runs: `rockpool up` starts one.']
  return [rows, ...troubles, ...idle].join('\n')
}

function printDevices({ devices }: OutputOf<'devices.list'>, page: Page): string {
  if (devices.length === 0)
    return wrapped(
      'No device is notified. Add a browser in the Settings of the dashboard, or a phone: rockpool devices add https://ntfy.sh/<topic>',
      page,
    )
  return table(page, devices, {
    ID: { value: (row) => row.id, min: 12 },
    NAME: (row) => row.name,
    KIND: { value: (row) => row.kind, min: 8 },
    SERVER: { value: (row) => row.server, min: 10, optional: true },
    ADDED: { value: (row) => ago(row.addedAt, page.now), min: 7, optional: true },
  })
}

function printPairings({ pending, people, full, firstOwns }: OutputOf<'pairing.list'>, page: Page): string {
  type Person = Omit<(typeof people)[number], 'owner' | 'standing' | 'approvedAt'>
  const who = {
    CHANNEL: { value: (row: Person) => row.channel, min: 8 },
    ACCOUNT: { value: (row: Person) => row.accountId, min: 7, optional: true },
    ID: { value: (row: Person) => row.senderId, min: 10 },
    'NAME (NOT VERIFIED)': (row: Person) => row.name ?? '',
  }
  const minutesLeft = ({ expiresAt }: (typeof pending)[number]): string =>
    String(Math.max(0, Math.ceil((expiresAt - page.now) / 60_000)))
  const requests = table(page, pending, {
    CODE: { value: (row) => row.code, min: 8 },
    ...who,
    'MINUTES LEFT': { value: minutesLeft, align: 'right', min: 7, optional: true },
  })
  const mayWriteAs = ({ standing }: (typeof people)[number]): string =>
    standing === 'owner' || standing === 'guest' ? standing : `no: ${standing}`
  const paired = table(page, people, { ...who, 'MAY WRITE AS': mayWriteAs })
  return [
    styled(page, 'bold', 'Pairing requests'),
    pending.length === 0 ? 'None.' : requests,
    ...full.map(({ channel, accountId, until }) => {
      const minutes = Math.max(1, Math.ceil((until - page.now) / 60_000))
      return prose(
        safe`${channel} (${accountId}) takes no further request for ${minutes} min: deny one to make room.`,
        page,
      )
    }),
    ...(firstOwns && pending.length > 0
      ? [prose('The first person whom you approve becomes the owner.', page)]
      : []),
    '',
    styled(page, 'bold', 'Paired'),
    people.length === 0 ? 'No person is paired yet.' : paired,
  ].join('\n')
}
