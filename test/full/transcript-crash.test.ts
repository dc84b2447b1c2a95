// The full sizes of test/transcript-crash.test.ts and of test/transcript-damage.test.ts.
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { beforeEach, describe, expect, test } from 'vitest'
import { whyNoPowerCuts } from '../support/power-cut.ts'
import { whyNoSweep } from '../support/syscall-sweep.ts'
import { appendWithFault } from '../support/transcript-faults.ts'
import { transcriptPowerCuts } from '../support/transcript-power-cut.ts'
import { all, cwd, said, talk, textsOf, transcriptFolder } from '../support/transcript-folder.ts'
import { audit, killRounds, startWriter } from '../support/transcript-writers.ts'

test('200 rounds of kill -9 lose nothing that was acknowledged', async () => {
  const { dir } = transcriptFolder()
  const acknowledged = await killRounds(dir, 's1', 200)
  expect(await audit(dir, 's1', acknowledged)).toMatchObject({ lost: [], offPath: 0 })
})

test('8 processes append 500 entries each to one transcript', async () => {
  const { dir } = transcriptFolder()
  const writers = Array.from({ length: 8 }, (_, n) => startWriter(dir, 's1', `w${n}`, 500))
  await Promise.all(writers.map((writer) => writer.done))
  const acknowledged = writers.flatMap((writer) => writer.acknowledged)
  expect(acknowledged).toHaveLength(4000)
  expect(await audit(dir, 's1', acknowledged)).toEqual({ damage: [], lost: [], offPath: 0 })
})

test('a line of 600 MB and ten million empty lines are read past within 200 MiB', async () => {
  const { transcripts, file } = transcriptFolder()
  const ref = { sessionId: 's1' }
  await transcripts.append(ref, talk(10), { cwd })
  const out = createWriteStream(file('s1'), { flags: 'a' })
  const piece = Buffer.alloc(1 << 20, 'x')
  for (let n = 0; n < 600; n++) if (!out.write(piece)) await once(out, 'drain')
  const empty = Buffer.alloc(1 << 20, '\n')
  for (let n = 0; n < 10; n++) if (!out.write(empty)) await once(out, 'drain')
  out.end()
  await once(out, 'close')
  const before = process.memoryUsage().rss
  await transcripts.append(ref, [said('behind')], { cwd })
  expect((await transcripts.tail(ref, 50)).entries).toHaveLength(11)
  expect(await all(transcripts.read(ref))).toHaveLength(11)
  expect(process.memoryUsage().rss - before).toBeLessThan(200 << 20)
})

const whyNot = whyNoSweep()

describe('every system call of an append fails once', () => {
  beforeEach((ctx) => {
    if (whyNot) ctx.skip(whyNot)
  })

  test.each(['openat', 'write', 'fdatasync', 'fsync', 'fstat', 'read', 'pread64', 'link', 'unlink', 'close'])(
    '%s: the entry is stored or the caller got an error',
    async (call) => {
      for (const error of ['EIO', 'ENOSPC', 'EDQUOT'] as const) {
        for (let when = 1; when < 10; when++) {
          const { transcripts, dir } = transcriptFolder()
          await transcripts.append({ sessionId: 's1' }, talk(4), { cwd })
          const { acknowledged, injected, texts } = await appendWithFault(dir, 's1', 'new', {
            call,
            error,
            when,
          })
          if (!injected) break
          expect(texts.slice(0, 4)).toEqual(['q1', 'a2', 'q3', 'a4'])
          expect(texts.includes('new-0')).toBe(acknowledged)
          await transcripts.append({ sessionId: 's1' }, [said('after')], { cwd })
          expect((await textsOf(transcripts, { sessionId: 's1' })).at(-1)).toBe('after')
        }
      }
    },
  )
})

const whyNoCuts = await whyNoPowerCuts()

test('20 power cuts lose no acknowledged entry', async (ctx) => {
  if (whyNoCuts) ctx.skip(whyNoCuts)
  expect(await transcriptPowerCuts(20)).toEqual({ lost: [], damage: [] })
})

test('a writer that does not sync loses entries in a power cut, and this test sees it', async (ctx) => {
  if (whyNoCuts) ctx.skip(whyNoCuts)
  expect((await transcriptPowerCuts(10, 'without-sync')).lost).not.toEqual([])
})
