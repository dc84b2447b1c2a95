// An acknowledged entry survives kill -9, and processes that append together keep one conversation.
import { mkdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { put, transcriptFolder } from './support/transcript-folder.ts'
import { audit, killRounds, startWriter } from './support/transcript-writers.ts'

describe('several processes on one transcript', () => {
  test('keep one chain of parents, with every entry in it', async () => {
    const { dir } = transcriptFolder()
    const writers = ['a', 'b', 'c'].map((name) => startWriter(dir, 's1', name, 40))
    await Promise.all(writers.map((writer) => writer.done))
    const acknowledged = writers.flatMap((writer) => writer.acknowledged)
    expect(acknowledged).toHaveLength(120)
    expect(await audit(dir, 's1', acknowledged)).toEqual({ damage: [], lost: [], offPath: 0 })
  })

  test('would lose each other without the lock, and the test would say so', async () => {
    const { dir } = transcriptFolder()
    let faults = 0
    // On a busy machine they may take turns by chance.
    for (let round = 0; round < 10 && faults === 0; round++) {
      const writers = ['a', 'b', 'c'].map((name) => startWriter(dir, 's1', name, 200, 'without-lock'))
      await Promise.all(writers.map((writer) => writer.done))
      const { offPath, damage } = await audit(dir, 's1', [])
      faults = offPath + damage.length
    }
    expect(faults).toBeGreaterThan(0)
  })
})

describe('kill -9 in the middle of appends', () => {
  test('loses nothing that was acknowledged', async () => {
    const { dir } = transcriptFolder()
    const acknowledged = await killRounds(dir, 's1', 6)
    expect(acknowledged.length).toBeGreaterThan(10)
    expect(await audit(dir, 's1', acknowledged)).toMatchObject({ lost: [], offPath: 0 })
  })

  test('catches a writer that acknowledges before it writes', async () => {
    const { dir, file } = transcriptFolder()
    mkdirSync(dir, { recursive: true })
    put(file('s1'), '')
    const acknowledged = await killRounds(dir, 's1', 1, 'acknowledges-first')
    expect((await audit(dir, 's1', acknowledged)).lost).not.toEqual([])
  })

  test('an audit notices one missing entry', async () => {
    const { dir } = transcriptFolder()
    const writer = startWriter(dir, 's1', 'a', 5)
    await writer.done
    expect((await audit(dir, 's1', [...writer.acknowledged, 'a-5'])).lost).toEqual(['a-5'])
  })
})
