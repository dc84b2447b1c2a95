// What a gateway keeps in memory after very many messages, over half an hour. SOAK_MINUTES=0 sends them as fast as it can.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const minutes = process.env['SOAK_MINUTES'] ?? '30'

test('100,000 messages of 50 people leave no more in memory than the first 20,000, and no open file', async () => {
  const script = join(import.meta.dirname, '../support/soak-flow.ts')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--expose-gc', '--max-semi-space-size=16', script, '50', '200', '10', minutes],
    { env: { ...process.env, UV_THREADPOOL_SIZE: '16' } },
  )
  const kept = JSON.parse(stdout) as Array<{ heapMb: number; files: number }>
  console.log(kept)
  // A session keeps the ids of its entries until its transcript has 1 MB, so few people write much.
  const [, early] = kept
  const last = kept.at(-1)!
  expect(last.heapMb - early!.heapMb).toBeLessThan(8)
  expect(last.files).toBeLessThanOrEqual(early!.files + 2)
}, 2_400_000)
