import { expect, test } from 'vitest'
import { joined } from './session-export.ts'

/** Yields a text of 16 MiB `count` times. */
async function* textsOf(count: number): AsyncGenerator<string> {
  const text = 'word '.repeat((16 << 20) / 5)
  for (let n = 0; n < count; n++) yield text
}

test('an export of more than 64 MiB is refused before all of it is read, with another way', async () => {
  const pieces = textsOf(1_000_000_000)
  await expect(joined(pieces, 'agent:main:large')).rejects.toMatchObject({
    code: 'refused',
    message: 'The export of agent:main:large has more than 64 MiB.',
    hint: expect.stringContaining('rockpool history --limit 1000') as string,
  })
  expect((await joined(textsOf(1), 'agent:main:main')).length).toBe(Math.floor((16 << 20) / 5) * 5)
})
