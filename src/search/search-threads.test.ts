import { expect, test } from 'vitest'
import { IndexThread } from './search-threads.ts'

test('after its end nothing starts the thread again', async () => {
  const job = { job: 'index' as const, indexFile: '/nowhere', secrets: [], meaning: { use: 'none' as const } }
  const thread = new IndexThread(
    job,
    () => undefined,
    () => undefined,
  )
  await thread.stop()
  // Whoever was listing files meanwhile: a thread that was started now would hold the process for good.
  await expect(thread.read([], true)).rejects.toThrow('stopped')
})
