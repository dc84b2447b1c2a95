// One append in a process of its own, with one system call on the transcript's files made to fail.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { FileTranscripts } from '../../src/store/transcripts/transcript-file.ts'
import { textsOf } from './transcript-folder.ts'

export interface Fault {
  call: string
  error: 'EIO' | 'ENOSPC' | 'EDQUOT'
  /** Which of these calls fails, counted from 1. */
  when: number
}

export interface Outcome {
  /** Did the append say that it was written? */
  acknowledged: boolean
  /** Was there such a call to fail? */
  injected: boolean
  texts: string[]
  leftovers: string[]
}

export async function appendWithFault(
  dir: string,
  sessionId: string,
  text: string,
  fault: Fault,
): Promise<Outcome> {
  const file = join(dir, `${sessionId}.jsonl`)
  const paths = [file, `${file}.torn`, dir].flatMap((path) => ['-P', path])
  const inject = `inject=${fault.call}:error=${fault.error}:when=${fault.when}`
  const script = join(import.meta.dirname, 'transcript-writer.ts')
  const writer = [process.execPath, script, dir, sessionId, text, '1']
  const { status, stderr } = spawnSync(
    'strace',
    ['-f', '-qq', ...paths, '-e', `trace=${fault.call}`, '-e', inject, ...writer],
    {
      encoding: 'utf8',
      // strace counts the calls of each thread by itself, so all of them must come from one.
      env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    },
  )
  const transcripts = new FileTranscripts({ agentId: 'main', dir })
  return {
    acknowledged: status === 0,
    injected: stderr.includes('(INJECTED)'),
    texts: await textsOf(transcripts, { sessionId }),
    leftovers: readdirSync(dir).filter((name) => name.endsWith('.tmp') || name.endsWith('.lock')),
  }
}
