import { expect, test } from 'vitest'
import { channelContract } from '../../test/support/channel-contract.ts'
import type { Feature, Platform, Rig, Shown, Written } from '../../test/support/channel-contract.ts'
import { testHost } from '../../test/support/channel-host.ts'
import { readFileSync } from 'node:fs'
import { WebChannel } from './web.ts'
import type { WebOutput } from '../domain/channel.ts'

const features = new Set<Feature>(['several-people', 'replies', 'buttons', 'media-out'])

class WebPlatform implements Platform {
  readonly people = { alice: 'alice', bob: 'bob' }
  channel!: WebChannel
  acknowledged = 0
  outputs: WebOutput[] = []
  #next = 0

  address = (_place: string, person: 'alice' | 'bob' = 'alice') => ({
    channel: 'web',
    accountId: 'default',
    to: person,
  })

  async write(what: Written): Promise<string> {
    const messageId = `m${this.#next++}`
    const { from, text, replyTo } = what
    await this.channel.receive({ chatId: from, sender: { id: from, name: from }, messageId, text, replyTo })
    return messageId
  }

  async press(messageId: string, data: string, by: 'alice' | 'bob'): Promise<void> {
    this.acknowledged += 1
    await this.channel.receive({ chatId: by, sender: { id: by }, text: '', button: { data, messageId } })
  }

  shown(): Shown[] {
    const shown = new Map<string, Shown>()
    for (const output of this.outputs) {
      if (output.type === 'typing') continue
      const { id, text, buttons, files, replyTo } = output.message
      const [file] = files
      shown.set(id, {
        id,
        to: output.address.to,
        text,
        formats: [],
        buttons: buttons.flat(),
        ...(replyTo === undefined ? {} : { replyTo }),
        ...(file ? { file: { name: file.name, bytes: readFileSync(file.path) } } : {}),
      })
    }
    return [...shown.values()]
  }

  typings = (): number => this.outputs.filter((output) => output.type === 'typing').length
  pressesAcknowledged = (): number => this.acknowledged
  edit = (): Promise<void> => Promise.reject(new Error('people cannot edit on the page'))
  react = (): Promise<void> => Promise.reject(new Error('the page has no reactions'))
  deliver = (): void => {}
  failSends = (): void => {}
  cut = (): void => {}
  goDown = async (): Promise<void> => {}
  comeBack = async (): Promise<void> => {}
}

channelContract('the web page', features, async (): Promise<Rig> => {
  const host = testHost()
  const platform = new WebPlatform()
  return {
    host,
    platform,
    open: () => {
      platform.channel = new WebChannel(host)
      platform.channel.onOutput((output) => platform.outputs.push(output))
      return platform.channel
    },
    close: async () => host.close(),
  }
})

test('the same reply sent twice is one message on the page', async () => {
  const host = testHost()
  const platform = new WebPlatform()
  const channel = new WebChannel(host)
  channel.onOutput((output) => platform.outputs.push(output))
  await channel.start(async () => {})
  for (const resent of [false, true]) {
    await channel.send(platform.address('direct'), { text: 'once' }, { idempotencyKey: 'k', resent })
  }
  expect(platform.shown().map((one) => one.text)).toEqual(['once'])
  await channel.stop()
  await expect(channel.receive({ chatId: 'a', sender: { id: 'a' }, text: 'x' })).rejects.toThrow(
    /not running/,
  )
  host.close()
})

test('a message that is refused gets no id, but an error that says how long to wait', async () => {
  const host = testHost()
  const channel = new WebChannel(host)
  await channel.start(async () => ({ reason: 'too-many-messages', waitMs: 12_300 }))
  await expect(channel.receive({ chatId: 'a', sender: { id: 'a' }, text: 'x' })).rejects.toMatchObject({
    code: 'rate-limited',
    hint: expect.stringContaining('again in 13 s') as string,
  })
  await channel.stop()
  host.close()
})
