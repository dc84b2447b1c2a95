// Operations with a result of one or two sentences: what was done, and the command that undoes it or comes next.
import { shownName } from '../domain/coding-state.ts'
import { shellWord } from '../domain/text.ts'
import type { MethodName, OutputOf } from '../rpc/client.ts'
import { bytes, count, duration, oneLine, prose, safe, styled, wrapped } from './print.ts'
import type { Page, Printers } from './print.ts'

/** Parts that are undefined or false are left out. */
type Sentences = string | Array<string | false | undefined>

const results: { [Name in MethodName]?: (output: OutputOf<Name>, page: Page) => Sentences } = {
  'agents.add': ({ id, folder }) => safe`Added the agent ${id}; its folder is ${folder}.`,
  'agents.remove': ({ id, setAside, stopped }) => [
    safe`The agent ${id} is removed.`,
    setAside !== undefined && safe`Its folder is now ${setAside}.`,
    ...stoppedWith(stopped),
  ],
  'rules.remove': ({ id }) => safe`Removed rule ${id}; sessions ask again.`,
  'rules.add': ({ id, text }) => safe`Rule ${id}: ${text}`,
  'cc.archive': ({ sessionId, archived }) => {
    const id = sessionId.slice(0, 8)
    if (!archived) return safe`${id} is in the lists again.`
    return safe`${id} is no longer listed; \`rockpool cc archive ${shellWord(id)} --restore\` brings it back.`
  },
  'cc.label': ({ sessionId, title = '' }) => safe`${sessionId.slice(0, 8)} is now called ${title}.`,
  'cc.quiet': ({ text }) => text,
  'channels.remove': ({ removed, note }, { input = {} }) => {
    const { channel, accountId = 'default' } = input as { channel: string; accountId?: string }
    const name = safe`${channel} (${accountId})`
    return [removed ? `${name} is removed.` : `There were no settings of ${name}.`, note && oneLine(note)]
  },
  'channels.test': ({ ok, identity }, page) => {
    if (!ok) return styled(page, 'yellow', 'Set up, but not connected: `rockpool channels status` shows why.')
    const as = identity ? safe` as ${identity.name} (${identity.id})` : ''
    return styled(page, 'green', `It works${as}.`)
  },
  'coding.background': ({ ids }) =>
    ids.length === 0 ? 'Nothing was streamed here.' : `No longer streamed here: ${ids.join(', ')}.`,
  'coding.interrupt': (row) =>
    safe`Stopped ${shownName(row)} (${row.state}). Tell it what to do next: rockpool cc respond ${row.id} "…"`,
  'coding.kill': (row) => {
    if (row.killed) return safe`Ended ${shownName(row)}. Take it back with: rockpool cc kill ${row.id} --undo`
    if (row.lifecycle === 'suspended')
      return row.endMessage
        ? safe`${shownName(row)} is back. ${row.endMessage}`
        : safe`${shownName(row)} waits for its next message again.`
    return safe`${shownName(row)} has ended already (${row.state}).`
  },
  'coding.release': (row) =>
    safe`${shownName(row)} is released. Continue it with: rockpool cc attach ${row.id}, or rockpool cc resume ${row.id}`,
  'coding.pr': ({ url, title }) => safe`Opened: ${title}\n${url}`,
  'coding.resume-all': ({ sessions, refused }) => [
    sessions.length === 0 ? 'Nothing was interrupted.' : safe`Resumed ${sessions.map(shownName).join(', ')}.`,
    ...refused.map(({ name, reason }) => safe`${name} was not resumed: ${reason}`),
  ],
  'coding.seen': (row) => safe`${shownName(row)} is marked as looked at (${row.state}).`,
  'coding.respond': (row) => safe`Sent to ${shownName(row)}.`,
  'devices.add': ({ device }) =>
    safe`${device.name} is notified from now on. Try it: rockpool devices test ${device.id}`,
  'devices.remove': ({ device }) => safe`${device.name} gets no more notifications.`,
  'devices.test': ({ device }) => safe`Sent a test notification to ${device.name}.`,
  health: ({ gateway, version, pid, uptimeMs }) =>
    gateway
      ? `The gateway is running: Rockpool ${version}, up ${duration(uptimeMs)} (process ${pid}).`
      : `Rockpool ${version} works; no gateway runs (\`rockpool up\` starts one).`,
  'memory.add': ({ agentId, name }) => safe`Noted in ${name} of ${agentId}.`,
  'memory.rebuild': ({ files, passages, bytesRead }) =>
    `Indexed again: ${passages} passages of ${files} files, ${bytes(bytesRead)}.`,
  'message.send': ({ state, channel, target, messageIds, note }) => [
    safe`${state === 'sent' ? 'Sent to' : 'Queued for'} ${channel}:${target}${idList(messageIds)}.`,
    note && oneLine(note),
  ],
  'pairing.approve': ({ person: { channel, senderId, name, owner } }) => {
    const called = name ? safe` (${name})` : ''
    return safe`${channel}:${senderId}${called} may talk now${owner ? ' and owns this Rockpool' : ''}.`
  },
  'pairing.deny': ({ request }) => safe`Denied the request of ${request.channel}:${request.senderId}.`,
  'pairing.remove': ({ standing, elsewhere, ended: { turns, messages, schedules, streams } }) => [
    ...accessLeft(standing, elsewhere),
    turns > 0 ? `Stopped turns: ${turns}.` : '',
    messages > 0 ? `Waiting messages that get no turn: ${messages}.` : '',
    schedules.length > 0
      ? oneLine(`Paused schedules: ${schedules.join(', ')}. \`rockpool schedules resume\` takes one over.`)
      : '',
    streams.length > 0 ? oneLine(`No longer streamed to the chat: ${streams.join(', ')}.`) : '',
  ],
  'sessions.compact': ({ key, compacted, reason, kept }) => {
    const left = kept > 0 ? `: ${kept} entries are left` : ''
    const done = compacted ? safe`Compacted ${key}${left}.` : safe`${key} is unchanged.`
    return [done, reason && oneLine(reason)]
  },
  'sessions.delete': ({ key, archived }) => [
    safe`${key} is deleted.`,
    ...archived.map((name) => safe`\`rockpool sessions restore ${name}\` brings it back.`),
  ],
  'sessions.fork': ({ key, entry: { label }, parentKey }) => {
    const called = typeof label === 'string' ? safe`, called ${label}` : ''
    return safe`Forked ${parentKey} as ${key}${called}.`
  },
  'sessions.label': ({ key, entry: { label } }) =>
    typeof label === 'string' ? safe`${key} is now called ${label}.` : safe`${key} has no label now.`,
  'sessions.reset': ({ key, archived }) => [
    safe`Reset ${key}.`,
    archived !== undefined && safe`\`rockpool sessions restore ${key}\` brings it back.`,
  ],
  'sessions.resolve': ({ key }) => oneLine(key),
  'sessions.restore': ({ key, archived }) => [
    safe`${key} is back.`,
    archived !== undefined && safe`The session that it replaced is now in ${archived}.`,
  ],
  'tokens.remove': ({ name, devices, schedules, rules }) => [
    safe`The token ${name} is removed and no longer valid.`,
    endedDevices(devices),
    schedules.length > 0 &&
      safe`Paused, because they were added with the token: ${schedules.join(', ')}. To resume one: rockpool schedules resume`,
    rules.length > 0 && safe`Asked again from now on, because the token allowed it: ${rules.join('; ')}.`,
  ],
  'tokens.rotate': ({ which, tokenFile, devices }) => [
    safe`The ${which} token is new. It is in ${tokenFile}.`,
    endedDevices(devices),
  ],
  'turns.stop': ({ aborted, forgotten }) => [
    aborted ? 'The turn is stopped.' : 'No turn runs there.',
    forgotten > 0 && `Dropped ${count(forgotten, 'queued message')}.`,
  ],
  'turns.wake': ({ sessionKey }) => safe`Queued for the next turn of ${sessionKey}.`,
}

function accessLeft(
  standing: OutputOf<'pairing.remove'>['standing'],
  elsewhere: OutputOf<'pairing.remove'>['elsewhere'],
): string[] {
  const isNamed = standing === 'owner' || standing === 'guest'
  if (!isNamed && elsewhere.length === 0) return ['Removed. This person may no longer talk to your agents.']
  const here = isNamed
    ? `Removed the pairing. This person may still write as ${standing}: see ownerAllowFrom and allowFrom in the configuration.`
    : 'Removed. This person may no longer write through this account.'
  const others = elsewhere.map((one) => `${one.accountId} (${one.standing})`).join(', ')
  return others === '' ? [here] : [here, oneLine(`May still write through your other accounts: ${others}.`)]
}

function endedDevices(names: readonly string[]): string | false {
  return (
    names.length > 0 &&
    safe`No longer notified, because they were added with the old token: ${names.join(', ')}. Add them again: rockpool devices add`
  )
}

function stoppedWith(stopped: OutputOf<'agents.remove'>['stopped']): Array<string | false> {
  const { tokens, schedules, sessions, approvals, turns, rules } = stopped
  const line = (what: string, names: string[]): string | false =>
    names.length > 0 && safe`${what}: ${names.join(', ')}.`
  return [
    line('Removed tokens', tokens),
    line('Paused schedules', schedules),
    line('Ended coding sessions', sessions),
    line('Stopped turns', turns),
    line('Closed requests', approvals),
    line('Removed permission rules', rules),
  ]
}

function idList(ids: readonly string[]): string {
  return ids.length > 0 ? ` (${ids.join(', ')})` : ''
}

/** Results with more than sentences: warnings, or a token that is easy to copy. */
const longResults: Printers = {
  backup: ({ folder, files, bytes: size, warnings }, page) => {
    const done = safe`Copied ${count(files, 'file')} (${bytes(size)}) to ${folder}.`
    return [
      prose(`${done} \`rockpool restore-backup\` restores them.`, page),
      ...warnings.map((text) => styled(page, 'yellow', prose(`! ${text}`, page))),
    ].join('\n')
  },
  'sessions.patch': ({ key, withoutEffect = [] }, page) => {
    const ignored = `Kept for OpenClaw, without effect here: ${withoutEffect.join(', ')}.`
    return [
      safe`${key} is changed.`,
      ...(withoutEffect.length > 0 ? [styled(page, 'yellow', oneLine(ignored))] : []),
    ].join('\n')
  },
  'tokens.add': ({ name, scopes, agentId, token, note }, page) => {
    const limit = agentId === undefined ? '' : safe`, for the agent ${agentId} only`
    const about = safe`The token ${name} may ${scopes.join(' and ')}${limit}. It is shown only this once:`
    const remark = note === undefined ? '' : `\n\n${styled(page, 'yellow', prose(oneLine(note), page))}`
    return `${prose(about, page)}\n\n${oneLine(token)}${remark}`
  },
}

export const printers: Printers = { ...longResults, ...asPrinters(results) }

/** Joins the sentences and wraps them at the terminal's width. */
function asPrinters(table: typeof results): Printers {
  const entries = Object.entries(table).map(([name, format]) => [
    name,
    // Each function takes the output of its own operation.
    (output: never, page: Page) =>
      wrapped([(format as Format)(output, page)].flat().filter(Boolean).join(' '), page),
  ])
  return Object.fromEntries(entries) as Printers
}

type Format = (output: never, page: Page) => Sentences
