// What was done to the house, in a sentence each: agents, tokens, grants, people, backups, the service.
import { bytes, count, oneLine, pairs, prose, styled } from './print.ts'
import type { Page } from './print.ts'

export function printAgentRemoved({ id, setAside }: { id: string; setAside?: string }, page: Page): string {
  const kept = setAside === undefined ? '' : ` Its folder is now ${oneLine(setAside)}.`
  return prose(`The agent ${oneLine(id)} is removed.${kept}`, page)
}

interface NewToken {
  name: string
  scopes: string[]
  agentId?: string
  token: string
}

/** The token has a line of its own, so that it can be copied. */
export function printTokenAdded({ name, scopes, agentId, token }: NewToken, page: Page): string {
  const whose = agentId === undefined ? '' : `, in the world of ${oneLine(agentId)} only`
  const about = `The token ${oneLine(name)} may ${scopes.join(' and ')}${whose}. It is shown this once:`
  return `${prose(about, page)}\n\n${oneLine(token)}`
}

export function printTokenRemoved({ name }: { name: string }): string {
  return `The token ${oneLine(name)} opens nothing any more.`
}

export function printTokenRotated(
  { which, tokenFile }: { which: string; tokenFile: string },
  page: Page,
): string {
  return prose(`The ${oneLine(which)} token is new. It is in ${oneLine(tokenFile)}.`, page)
}

export function printRevoked({ id }: { id: string }): string {
  return `${oneLine(id)} is no longer allowed.`
}

export function printTurnedAway({ request }: { request: { channel: string; senderId: string } }): string {
  return `${oneLine(request.channel)}:${oneLine(request.senderId)} is turned away.`
}

export function printShutOut({ removed }: { removed: boolean }): string {
  return removed ? 'May no longer talk.' : 'Could not talk anyway.'
}

export function printStopped({ aborted, forgotten }: { aborted: boolean; forgotten: number }): string {
  const waited =
    forgotten === 0
      ? ''
      : ` ${count(forgotten, 'message')} that waited ${forgotten === 1 ? 'is' : 'are'} forgotten.`
  return `${aborted ? 'The turn is stopped.' : 'No turn runs there.'}${waited}`
}

interface Backup {
  folder: string
  files: number
  bytes: number
  warnings: string[]
}

export function printBackup({ folder, files, bytes: size, warnings }: Backup, page: Page): string {
  const done = `${count(files, 'file')} (${bytes(size)}) in ${oneLine(folder)}. \`rockpool restore-backup\` takes them back.`
  return [
    prose(done, page),
    ...warnings.map((text) => styled(page, 'yellow', prose(`! ${text}`, page))),
  ].join('\n')
}

export function printRestored(
  { files, movedTo, next }: { files: number; movedTo?: string; next?: string },
  page: Page,
): string {
  const aside = movedTo === undefined ? '' : ` What was there is now ${oneLine(movedTo)}.`
  return prose(`${count(files, 'file')} restored.${aside}${next === undefined ? '' : `\n${next}`}`, page)
}

interface Service {
  installed: boolean
  changed: boolean
  started?: boolean
  file: string
  hint?: string
  problems?: string[]
}

export function printServiceChange(
  { installed, changed, started, file, hint, problems = [] }: Service,
  page: Page,
): string {
  const gone = changed ? 'The service is stopped and its file removed.' : 'There is no service here.'
  const there = `The service is installed (${oneLine(file)})${started ? ' and started' : ''}.`
  const more = [...(hint === undefined ? [] : [hint]), ...problems.map((text) => `! ${text}`)]
  return [installed ? there : gone, ...more].map((line) => prose(line, page)).join('\n')
}

interface Findings {
  claude: { found: boolean; source?: string; hint?: string }
  agents: string[]
  channels: Array<{ channel: string; tokenFrom: string }>
  service: { installed: boolean }
}

/** Without a terminal, `setup` reports what it found. */
export function printFound({ claude, agents, channels, service }: Findings, page: Page): string {
  const named = channels.map(({ channel, tokenFrom }) => `${channel} (token from ${tokenFrom})`)
  const facts = pairs(
    [
      ['Claude', claude.found ? `connected (${claude.source ?? ''})` : `not connected. ${claude.hint ?? ''}`],
      ['Agents', agents.join(', ') || 'main, as it comes'],
      ['Channels', named.join(', ') || 'none (`rockpool channels add` sets one up)'],
      ['Service', service.installed ? 'installed' : 'not installed (`rockpool service install`)'],
    ],
    page,
  )
  return `${facts}\n\n${prose('Run it in a terminal to set up what is missing.', page)}`
}
