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
  // A listing of files may still run: a thread started now would keep the process alive for ever.
  await expect(thread.read([], true)).rejects.toThrow('stopped')
})
