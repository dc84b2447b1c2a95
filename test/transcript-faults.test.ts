// A disk that is full or fails: the entry is there and was acknowledged, or it is not and the caller got an error.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { FileTranscripts } from '../src/store/transcripts/transcript-file.ts'
import { whyNoPowerCuts } from './support/power-cut.ts'
import { whyNoSweep } from './support/syscall-sweep.ts'
import { appendWithFault } from './support/transcript-faults.ts'
import type { Fault } from './support/transcript-faults.ts'
import { transcriptPowerCuts } from './support/transcript-power-cut.ts'
import { cwd, isChain, pathOf, said, talk, textsOf, transcriptFolder } from './support/transcript-folder.ts'

const whyNot = whyNoSweep()

describe('one system call of an append fails', () => {
  beforeEach((ctx) => {
    if (whyNot) ctx.skip(whyNot)
  })

  test.each<Fault>([
    { call: 'openat', error: 'EIO', when: 1 },
    { call: 'write', error: 'ENOSPC', when: 1 },
    { call: 'write', error: 'EIO', when: 1 },
    // The first close is that of the look at the file, the second one follows the write.
    { call: 'close', error: 'EIO', when: 1 },
    { call: 'close', error: 'EIO', when: 2 },
  ])('$call no. $when with $error', async (fault) => {
    const { transcripts, dir } = transcriptFolder()
    await transcripts.append({ sessionId: 's1' }, talk(4), { cwd })
    const { acknowledged, injected, texts, leftovers } = await appendWithFault(dir, 's1', 'new', fault)
    expect(injected).toBe(true)
    expect(texts).toEqual(acknowledged ? ['q1', 'a2', 'q3', 'a4', 'new-0'] : ['q1', 'a2', 'q3', 'a4'])
    expect(acknowledged).toBe(fault.call === 'close' && fault.when === 2)
    expect(leftovers).toEqual([])
    await new FileTranscripts({ agentId: 'main', dir }).append({ sessionId: 's1' }, [said('after')], { cwd })
    const path = await pathOf(transcripts, { sessionId: 's1' })
    expect(isChain(path)).toBe(true)
    expect(path).toHaveLength(texts.length + 1)
  })
})

describe('a full disk', () => {
  test('loses no message, and the conversation continues when there is space again', async (ctx) => {
    if (process.getuid?.() !== 0) ctx.skip('mounting a small disk needs root')
    const { root } = transcriptFolder()
    const disk = join(root, 'disk')
    mkdirSync(disk)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk], { stdio: 'ignore' })
    } catch {
      // In most containers.
      ctx.skip('a file system cannot be mounted here')
    }
    const transcripts = new FileTranscripts({ agentId: 'main', dir: join(disk, 'sessions') })
    onTestFinished(async () => {
      await transcripts.close()
      execFileSync('umount', [disk])
    })
    const ref = { sessionId: 's1' }
    const written: string[] = []
    writeFileSync(join(disk, 'room'), Buffer.alloc(64 << 10))
    const fill = async (): Promise<unknown> => {
      for (let n = 0; ; n++) {
        const text = `${written.length} ${'x'.repeat(3000)}`
        try {
          await transcripts.append(ref, [said(text)], { cwd })
          written.push(text)
        } catch (error) {
          return error
        }
      }
    }
    expect(await fill()).toMatchObject({ code: 'disk-failed' })
    expect(await textsOf(transcripts, ref)).toEqual(written)
    rmSync(join(disk, 'room'))
    expect(await fill()).toMatchObject({ code: 'disk-failed' })
    expect(await textsOf(transcripts, ref)).toEqual(written)
    expect(written.length).toBeGreaterThan(40)
    expect((await transcripts.tail(ref, 5)).damage).toEqual([])
  })
})

describe('a power cut', () => {
  test('loses no acknowledged entry', async (ctx) => {
    const whyNoCuts = await whyNoPowerCuts()
    if (whyNoCuts) ctx.skip(whyNoCuts)
    expect(await transcriptPowerCuts(2)).toEqual({ lost: [], damage: [] })
  })
})
