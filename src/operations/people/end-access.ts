// Ends the work of a person who loses access or the rights of the owner: running turns, waiting messages, schedules of the chat,
// and the output of coding sessions that is streamed to the chat. Each part also asks for the rights when it acts; this ends it
// at once.
import { formatOriginChannel, parseOriginChannel, personAt, privateChatWith } from '../../domain/address.ts'
import { onlyOwnerResumes } from '../../domain/schedule.ts'
import type { Schedule } from '../../domain/schedule.ts'
import { personOfKey } from '../../domain/session-key-forms.ts'
import type { PersonRef } from '../../store/tables/pairing.ts'
import type { App } from '../app.ts'
import { noticeChange } from '../schedules/schedule-row.ts'

export interface EndedAccess {
  turns: number
  messages: number
  schedules: string[]
  streams: string[]
}

export async function endAccess(app: App, person: PersonRef): Promise<EndedAccess> {
  const schedules = await pauseSchedules(app, person)
  const streams = await endStreams(app, person)
  // Without a gateway no turn runs, and waiting messages are refused when they are due.
  const { turns, messages } = app.gateway
    ? await (await app.conversations()).recheckRights()
    : { turns: 0, messages: 0 }
  return { turns, messages, schedules, streams }
}

async function pauseSchedules(app: App, person: PersonRef): Promise<string[]> {
  const paused = `Paused when the owner removed ${person.channel}:${person.senderId}, whose chat it uses.`
  const names: string[] = []
  for (const schedule of app.storage.schedules.list()) {
    if (onlyOwnerResumes(schedule) || !usesChatOf(schedule, person)) continue
    await app.storage.schedules.change(schedule.id, () => ({ paused }))
    await noticeChange(app, schedule)
    names.push(schedule.name)
  }
  return names
}

function usesChatOf({ addedIn, tell, action }: Schedule, person: PersonRef): boolean {
  const isPerson = ({ channel = person.channel, accountId, senderId }: Partial<PersonRef>): boolean =>
    channel === person.channel && accountId === person.accountId && senderId === person.senderId
  const inSession = 'sessionKey' in action && action.sessionKey ? personOfKey(action.sessionKey) : undefined
  if (inSession && isPerson(inSession)) return true
  return [addedIn, tell, 'to' in action ? action.to : undefined].some((chat) => {
    const address = chat === undefined ? undefined : parseOriginChannel(chat)
    return address !== undefined && isPerson({ ...address, senderId: personAt(address) })
  })
}

async function endStreams({ storage: { coding } }: App, person: PersonRef): Promise<string[]> {
  const channel = formatOriginChannel(privateChatWith(person))
  const ids = coding.watchedBy(channel)
  for (const codingId of ids) await coding.setWatch({ codingId, channel, seenSeq: 0, foreground: false })
  return ids.map((id) => coding.get(id)?.name ?? id)
}
