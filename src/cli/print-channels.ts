// Channels, pairings and sent messages in a terminal.
import { ago, broken, numbered, prose, styled, table, visible } from './print.ts'
import type { Page, Style } from './print.ts'

interface ChannelRow {
  channel: string
  accountId: string
  enabled: boolean
  state: string
  since?: number
  identity?: { id: string; name: string }
  token?: string
  lastError?: string
  needs?: { kind: string; detail: string }
}

const stateStyles: Readonly<Record<string, Style>> = {
  connected: 'green',
  reconnecting: 'yellow',
  failed: 'red',
}

export function printChannels(
  { running, channels }: { running: boolean; channels: ChannelRow[] },
  page: Page,
): string {
  const rows = table(
    channels,
    [
      { title: 'CHANNEL', value: (row) => row.channel, min: 8 },
      { title: 'ACCOUNT', value: (row) => row.accountId, min: 7, spare: true },
      {
        title: 'STATE',
        min: 12,
        value: (row) => (row.enabled ? (running ? row.state : 'not running') : 'off'),
        style: (row) => stateStyles[row.state],
      },
      { title: 'SINCE', value: (row) => ago(row.since, page.now), min: 7, spare: true },
      { title: 'AS', value: (row) => row.identity?.name ?? '' },
      { title: 'TOKEN', value: (row) => row.token ?? '', min: 6, spare: true },
    ],
    page,
  )
  const troubles = channels.flatMap((row) => {
    // A QR code is for a phone, not for a reader.
    const what =
      row.needs?.kind === 'qr'
        ? 'a QR code waits: `rockpool channels add whatsapp`'
        : (row.needs?.detail ?? row.lastError)
    return what === undefined
      ? []
      : [broken(`${styled(page, 'yellow', `${row.channel} (${row.accountId})`)}: ${visible(what)}`, page)]
  })
  const idle = running ? [] : ['The gateway does not run: `rockpool up` starts it.']
  return [rows, ...troubles, ...idle].join('\n')
}

export function printAdded(
  { channel, identity, next }: { channel: string; identity?: { name: string }; next: string[] },
  page: Page,
): string {
  const who = identity ? ` as ${visible(identity.name)}` : ''
  const done = styled(page, 'green', `${channel} is set up${who}.`)
  return [done, 'What to do next:', numbered(next, page)].join('\n')
}

export function printRemoved({ removed, note }: { removed: boolean; note?: string }, page: Page): string {
  const { channel, accountId = 'default' } = page.input ?? {}
  const name = `${visible(String(channel))} (${visible(String(accountId))})`
  const done = removed ? `${name} is removed.` : `Nothing was kept of ${name}.`
  return [broken(done, page), ...(note ? [prose(note, page)] : [])].join('\n')
}

export function printTested(
  { ok, identity }: { ok: boolean; identity?: { id: string; name: string } },
  page: Page,
): string {
  if (!ok)
    return styled(page, 'yellow', 'It is set up, but not connected: `rockpool channels status` says why.')
  const who = identity ? ` as ${visible(identity.name)} (${visible(identity.id)})` : ''
  return styled(page, 'green', `It works${who}.`)
}

interface Person {
  channel: string
  accountId: string
  senderId: string
  name?: string
}

export function printPairings(
  {
    pending,
    people,
  }: {
    pending: Array<Person & { code: string; expiresAt: number }>
    people: Array<Person & { owner: boolean; approvedAt: number }>
  },
  page: Page,
): string {
  const who = [
    { title: 'CHANNEL', value: (row: Person) => row.channel, min: 8 },
    { title: 'ACCOUNT', value: (row: Person) => row.accountId, min: 7, spare: true },
    { title: 'ID', value: (row: Person) => row.senderId, min: 10 },
    { title: 'NAME (THEIR OWN WORDS)', value: (row: Person) => row.name ?? '' },
  ]
  const waiting =
    pending.length === 0
      ? 'No pairing requests.'
      : table<(typeof pending)[number]>(
          pending,
          [
            { title: 'CODE', value: (row) => row.code, min: 8 },
            ...who,
            {
              title: 'MINUTES LEFT',
              spare: true,
              min: 7,
              value: (row) => String(Math.max(0, Math.ceil((row.expiresAt - page.now) / 60_000))),
              align: 'right',
            },
          ],
          page,
        )
  const known =
    people.length === 0
      ? 'Nobody is paired yet.'
      : table<(typeof people)[number]>(
          people,
          [...who, { title: 'OWNER', value: (row) => (row.owner ? 'yes' : '') }],
          page,
        )
  return [styled(page, 'bold', 'Waiting'), waiting, '', styled(page, 'bold', 'May talk'), known].join('\n')
}

export function printApproved({ person }: { person: Person & { owner: boolean } }, page: Page): string {
  const name = person.name ? ` (${visible(person.name)})` : ''
  const owner = person.owner ? ' and owns this Rockpool' : ''
  return broken(`${person.channel}:${visible(person.senderId)}${name} may talk now${owner}.`, page)
}

export function printSent(
  {
    state,
    channel,
    target,
    messageIds,
    note,
  }: { state: string; channel: string; target: string; messageIds: string[]; note?: string },
  page: Page,
): string {
  const ids = messageIds.length > 0 ? ` (${messageIds.map(visible).join(', ')})` : ''
  const words = state === 'sent' ? 'Sent to' : 'Kept for'
  return [`${words} ${channel}:${visible(target)}${ids}.`, ...(note ? [prose(note, page)] : [])].join('\n')
}
