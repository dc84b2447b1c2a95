// A purge of a session that people talked in: nothing of what they said or sent is left in any file of the state
// directory, down to the free pages of its databases.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Message } from '../src/domain/message.ts'
import { openMediaFiles } from '../src/store/media/media-files.ts'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { MemoryChannel } from './support/memory-channel.ts'

const word = 'xylophonist'
const picture = Buffer.from('GIF89a-a-picture-of-a-marimba')

let house: ChannelHouse
let channel: MemoryChannel
beforeAll(async () => {
  house = await openChannelHouse({
    offline: true,
    channels: { ownerAllowFrom: ['telegram:7'], telegram: { groupPolicy: 'open' } },
    config: { agents: {}, memory: { meaning: { use: 'none' } } },
  })
  channel = new MemoryChannel({ name: 'telegram' })
  await house.conversations.addChannel(channel)
})
afterAll(() => house.close())

async function say(text: string, about: Partial<Message> = {}): Promise<void> {
  const to = about.chatType === 'group' ? '-100' : '7'
  const address = { channel: 'telegram', accountId: 'default', to }
  await channel.say(text, { from: '7', address, ...about })
  await house.conversations.converse.idle()
}

async function file(name: string): Promise<Message['media']> {
  const bytes = (async function* () {
    yield picture
  })()
  return [await openMediaFiles(house.app.paths.media).keep(bytes, { name, mimeType: 'image/gif' })]
}

function filesWith(what: string | Buffer): string[] {
  return readdirSync(house.home.stateDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(what))
    .map((path) => path.slice(house.home.stateDir.length + 1))
}

test('words, files, replies and answers of a private chat are gone, and its messages are not answered again', async () => {
  await say(`only the ${word} knows`, { media: await file('plan.gif') })
  const key = 'agent:main:telegram:direct:7'
  await house.ask('turns.run', { message: `and the ${word} tells`, sessionKey: key, idempotencyKey: 'k1' })
  await house.ask('sessions.label', { key, label: word })
  await house.conversations.converse.systemEvent(key, `a ${word} called`)
  await say('an answer goes on', { replyTo: { id: '1', text: word, senderName: 'Ada' } })
  await house.ask('sessions.search', { query: word })
  expect(filesWith(word).length).toBeGreaterThan(3)
  expect(filesWith(picture)).toHaveLength(2)
  await house.ask('sessions.delete', { key, purge: true })
  expect(filesWith(word)).toEqual([])
  expect(filesWith(picture)).toEqual([])
  const again = house.ask('turns.run', {
    message: `and the ${word} tells`,
    sessionKey: key,
    idempotencyKey: 'k1',
  })
  await expect(again).rejects.toMatchObject({ code: 'not-found' })
  const sent = channel.sent.length
  await say(`only the ${word} knows`, { id: '1' })
  expect(channel.sent).toHaveLength(sent)
})

test('overheard messages of a group are stored with its session; files of messages that no session takes are removed', async () => {
  const group = { chatType: 'group' as const }
  await say('hello', group)
  await say(`they spoke of a ${word}`, { ...group, mentioned: false, media: await file('seen.gif') })
  expect(filesWith(picture)).toEqual([])
  expect(filesWith(word)).not.toEqual([])
  await house.ask('sessions.delete', { key: 'agent:main:telegram:group:-100', purge: true })
  expect(filesWith(word)).toEqual([])
  expect(existsSync(join(house.app.paths.media, 'inbound'))).toBe(true)
})
