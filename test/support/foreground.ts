// A coding session in the foreground of a chat: its output arrives as one message that grows.
import { expect, vi } from 'vitest'
import type { ChannelHouse } from './channel-house.ts'

const waiting = { timeout: 40_000, interval: 20 }

export async function watchInForeground(
  house: ChannelHouse,
  write: (text: string) => unknown,
  /** Our messages in the chat as they are now. */
  shown: () => string[],
): Promise<void> {
  house.api.script('count the tiles', [
    { hold: 'watched', text: 'First I look.', tools: [{ name: 'Glob', input: { pattern: '*' } }] },
    { startDelayMs: 1_500, text: 'There are twelve.' },
  ])
  await write('/claude --name tiles count the tiles')
  await vi.waitFor(() => expect(shown().join('\n')).toMatch(/Launched/), waiting)
  await write('/claude_fg tiles')
  await vi.waitFor(() => {
    const { coding: store } = house.app.storage
    const watches = store.list({}).flatMap(({ id }) => store.watches(id))
    expect(watches.some((watch) => watch.foreground)).toBe(true)
  }, waiting)
  house.api.release('watched')
  const streamed = (): string[] => shown().filter((text) => text.startsWith('First I look.'))
  await vi.waitFor(() => expect(streamed().join()).toMatch(/There are twelve\./), waiting)
  expect(streamed()).toHaveLength(1)
}
