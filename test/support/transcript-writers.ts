// Runs processes that append to one transcript, and collects the acknowledged entries.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TranscriptEntry } from '../../src/domain/transcript.ts'
import { FileTranscripts } from '../../src/store/transcripts/transcript-file.ts'
import { all } from './transcript-folder.ts'

const script = join(import.meta.dirname, 'transcript-writer.ts')

export interface Writer {
  acknowledged: string[]
  /** What was acknowledged before a moment of the monotonic clock. */
  acknowledgedBefore(moment: bigint): string[]
  /** Resolves when it has acknowledged something. */
  begun: Promise<void>
  done: Promise<void>
  kill(): void
}

export function startWriter(
  dir: string,
  sessionId: string,
  name: string,
  count = Infinity,
  variant = 'real',
  isQuiet = false,
): Writer {
  const child = spawn(process.execPath, [script, dir, sessionId, name, String(count), variant], {
    // Errors of a process whose disk has gone are ignored.
    stdio: ['ignore', 'pipe', isQuiet ? 'ignore' : 'inherit'],
  })
  let output = ''
  let told: string[][] = []
  const writer: Writer = {
    acknowledged: [],
    acknowledgedBefore: (moment) => told.filter(([, at]) => BigInt(at!) < moment).map(([text]) => text!),
    begun: once(child.stdout, 'data').then(() => {}),
    done: once(child, 'close').then(() => {}),
    kill: () => void child.kill('SIGKILL'),
  }
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    // The last piece may be half a line: the process was killed while it wrote.
    told = output
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split(' '))
    writer.acknowledged = told.map(([text]) => text!)
  })
  return writer
}

/** Writers in rounds, each killed in the middle of its work. */
export async function killRounds(
  dir: string,
  sessionId: string,
  rounds: number,
  variant = 'real',
): Promise<string[]> {
  const acknowledged: string[] = []
  for (let round = 0; round < rounds; round++) {
    const writers = ['a', 'b'].map((name) =>
      startWriter(dir, sessionId, `${name}${round}`, Infinity, variant),
    )
    await Promise.all(writers.map((writer) => writer.begun))
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 60))
    for (const writer of writers) writer.kill()
    await Promise.all(writers.map((writer) => writer.done))
    acknowledged.push(...writers.flatMap((writer) => writer.acknowledged))
  }
  return acknowledged
}

export async function audit(dir: string, sessionId: string, acknowledged: string[]) {
  const transcripts = new FileTranscripts({ agentId: 'main', dir })
  const damage: string[] = []
  if (!(await transcripts.exists({ sessionId }))) return { damage, lost: acknowledged, offPath: 0 }
  const written = await all(transcripts.read({ sessionId }, (what) => damage.push(what)))
  const path = await all(transcripts.path({ sessionId }))
  const texts = new Set(path.map(textOf))
  return {
    damage,
    lost: acknowledged.filter((text) => !texts.has(text)),
    offPath: written.length - path.length,
  }
}

function textOf(entry: TranscriptEntry): string {
  const content = entry.type === 'message' && entry.message.role === 'user' ? entry.message.content : ''
  return typeof content === 'string' ? content : ''
}
