// A process for crash tests: the whole way of a message with the offline agent, fed from a script, until it is killed.
// It is started again and again on the same folder; what the "platform" received is in a file that no crash takes away.
// Usage: node crash-flow.ts <folder> <sessions> <messages of each in this and earlier lives> [end|stay when they are answered]
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Message } from '../../src/domain/message.ts'
import { openFlow } from './flow-bench.ts'

const [folder = '', sessions = '1', each = '1', whenDone = 'end'] = process.argv.slice(2)
const acknowledged = join(folder, 'acknowledged.txt')
const flow = await openFlow({
  folder: join(folder, 'state'),
  channel: { file: join(folder, 'sent.jsonl') },
  config: { messages: { queue: { mode: 'followup', cap: 1_000 } } },
})

/** The platform offers again what we have not acknowledged, and sometimes what we have. */
function messageOf(session: number, n: number): Message {
  const person = `p${session}`
  return {
    id: `${session}-${n}`,
    event: 'message',
    address: { channel: 'memory', accountId: 'default', to: person },
    chatType: 'direct',
    sender: { id: person },
    text: `[[offline: say answer ${session}-${n}]]`,
    sentAt: 0,
    mentioned: true,
    media: [],
  }
}

async function feed(session: number): Promise<void> {
  for (let n = doneIn(session); n < Number(each); n++) {
    await flow.converse.accept(messageOf(session, n))
    appendFileSync(acknowledged, `${session}-${n}\n`)
  }
}

/** One is offered again, as platforms do. */
function doneIn(session: number): number {
  const done = lines.filter((line) => line.startsWith(`${session}-`)).length
  return Math.max(0, done - 1)
}

const lines = existsSync(acknowledged) ? readFileSync(acknowledged, 'utf8').split('\n') : []
await Promise.all(Array.from({ length: Number(sessions) }, (_, session) => feed(session)))
await flow.settled()
process.stdout.write('done\n')
if (whenDone === 'stay') setInterval(() => {}, 60_000)
else await flow.stop()
