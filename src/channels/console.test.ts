import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { channelContract } from '../../test/support/channel-contract.ts'
import type { Feature, Platform, Rig, Shown, Written } from '../../test/support/channel-contract.ts'
import { testHost } from '../../test/support/channel-host.ts'
import { ConsoleChannel } from './console.ts'

const features = new Set<Feature>()

class ConsolePlatform implements Platform {
  readonly people = { alice: 'alice', bob: 'bob' }
  input = new PassThrough()
  output = new PassThrough()
  #printed: string[] = []
  #lines = 0

  constructor() {
    this.output.on('data', (chunk: Buffer) => this.#printed.push(chunk.toString().trimEnd()))
  }

  address = (_place: string, person: 'alice' | 'bob' = 'alice') => ({
    channel: 'console',
    accountId: 'default',
    to: person,
  })

  async write(what: Written): Promise<string> {
    this.input.write(`${what.text}\n`)
    return `-${++this.#lines}`
  }

  shown(): Shown[] {
    return this.#printed.map((text, n) => ({
      id: `out-${n + 1}`,
      to: 'alice',
      text,
      formats: [],
      buttons: [],
    }))
  }

  typings = (): number => 0
  pressesAcknowledged = (): number => 0
  press = (): Promise<void> => Promise.reject(new Error('no buttons'))
  edit = (): Promise<void> => Promise.reject(new Error('no edits'))
  react = (): Promise<void> => Promise.reject(new Error('no reactions'))
  deliver = (): void => {}
  failSends = (): void => {}
  cut = (): void => {}
  goDown = async (): Promise<void> => {}
  comeBack = async (): Promise<void> => {}
}

channelContract('the console', features, async (): Promise<Rig> => {
  const host = testHost()
  const platform = new ConsolePlatform()
  return {
    host,
    platform,
    open: () => new ConsoleChannel({ input: platform.input, output: platform.output, user: 'alice' }, host),
    close: async () => host.close(),
  }
})

test('nothing that a terminal would obey is printed, and a line that was not taken is named', async () => {
  const host = testHost()
  const platform = new ConsolePlatform()
  const channel = new ConsoleChannel({ input: platform.input, output: platform.output, user: 'alice' }, host)
  await channel.start(() => Promise.reject(new Error('the disk is full')))
  await channel.send(
    platform.address('direct'),
    { text: 'a\u001b]0;x\u0007b\u202ec\r\nd' },
    { idempotencyKey: 'k', resent: false },
  )
  expect(platform.shown()[0]!.text).toBe('abc\nd')
  await platform.write({ from: 'alice', place: 'direct', text: 'hello' })
  await vi.waitFor(() =>
    expect(platform.shown()[1]?.text).toBe('The message was not accepted: the disk is full'),
  )
  await channel.stop()
  host.close()
})
