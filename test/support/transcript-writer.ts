// A process that appends to one transcript as fast as it can and says what was acknowledged. Tests kill it.
//   node test/support/transcript-writer.ts <dir> <sessionId> <name> [count] [variant]
import { writeSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HeldLock } from '../../src/store/disk/file-lock.ts'
import { FileTranscripts } from '../../src/store/transcripts/transcript-file.ts'
import { said } from './talk.ts'

const [dir = '', sessionId = '', name = '', count = 'Infinity', variant = 'real'] = process.argv.slice(2)

/** Broken on purpose, to see that the tests notice. */
const variants: Record<string, () => (text: string) => Promise<unknown>> = {
  real: () => {
    const transcripts = new FileTranscripts({ agentId: 'main', dir })
    return (text) => transcripts.append({ sessionId }, [said(text)], { cwd: '/' })
  },
  'without-lock': () => {
    const lockOf = () => ({
      hold: <T>(_op: string, fn: (held: HeldLock) => Promise<T>) =>
        fn({ confirm: () => {}, isWanted: () => false, wasAbandoned: false }),
    })
    const transcripts = new FileTranscripts({ agentId: 'main', dir, lockOf })
    return (text) => transcripts.append({ sessionId }, [said(text)], { cwd: '/' })
  },
  'without-sync': () => {
    const transcripts = new FileTranscripts({ agentId: 'main', dir, durability: 'relaxed' })
    return (text) => transcripts.append({ sessionId }, [said(text)], { cwd: '/' })
  },
  'acknowledges-first': () => {
    const file = join(dir, `${sessionId}.jsonl`)
    return async (text) => {
      setTimeout(() => void appendFile(file, `${JSON.stringify(said(text))}\n`), 20)
    }
  },
}

const append = variants[variant]!()
for (let n = 0; n < Number(count); n++) {
  const text = `${name}-${n}`
  await append(text)
  // Written before anything else happens: what stands here was promised.
  writeSync(1, `${text} ${process.hrtime.bigint()}\n`)
}
