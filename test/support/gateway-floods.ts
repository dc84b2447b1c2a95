// Crowds, slow senders and rubbish for a gateway that runs elsewhere; a separate process, so that a test that measures the
// answers to an honest client measures the gateway and not the crowd:
//   node test/support/gateway-floods.ts <port> <token> <flood>
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'

export const rubbish = [
  '{',
  '[]',
  '42',
  '"x"',
  '{"jsonrpc":"1.0"}',
  '{"jsonrpc":"2.0","id":{},"method":"x"}',
  '\u0000',
  'null',
]

interface Target {
  port: number
  token: string
}

const floods = {
  '500 idle strangers': async ({ port }) => {
    const crowd = await Promise.all(Array.from({ length: 500 }, () => stranger(port)))
    await sleep(2_000)
    for (const socket of crowd) socket.destroy()
  },
  'slow senders': async ({ port }) => {
    const slow = await Promise.all(Array.from({ length: 60 }, () => stranger(port)))
    for (const socket of slow) socket.write('POST /rpc HTTP/1.1\r\nContent-Length: 1000\r\nHos')
    for (let step = 0; step < 40; step++) {
      for (const socket of slow) socket.write('t')
      await sleep(50)
    }
    for (const socket of slow) socket.destroy()
  },
  'frames of 2 MiB': async (target) => {
    const frame = Buffer.alloc(2 * 1024 * 1024, 'x')
    for (let n = 0; n < 50; n++) {
      const socket = await client(target)
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.send(frame, { binary: false })
      await closed
    }
  },
  '10,000 malformed frames': async (target) => {
    for (let sent = 0; sent < 10_000;) {
      const socket = await client(target)
      let answers = 0
      const over = new Promise<void>((resolve) => {
        socket.once('close', () => resolve())
        socket.on('message', () => void (++answers === 1_000 && resolve()))
      })
      for (let n = 0; n < 1_000; n++, sent++) socket.send(rubbish[n % rubbish.length]!)
      await over
      socket.terminate()
    }
  },
} satisfies Record<string, (target: Target) => Promise<void>>

type Flood = keyof typeof floods
export const floodNames = Object.keys(floods) as Flood[]

/** How long an honest client waits for each answer during a flood, in milliseconds. */
export async function answersDuring(flood: Flood, target: Target): Promise<number[]> {
  const honest = await client(target)
  const args = [import.meta.filename, String(target.port), target.token, flood]
  const crowd = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const over = new Promise<number | null>((resolve) => crowd.once('exit', resolve))
  const answers: number[] = []
  while (crowd.exitCode === null) {
    const began = performance.now()
    const answered = new Promise((resolve) => honest.once('message', resolve))
    honest.send(`{"jsonrpc":"2.0","id":${answers.length},"method":"health","params":{}}`)
    await answered
    answers.push(performance.now() - began)
    await sleep(5)
  }
  honest.terminate()
  if ((await over) !== 0) throw new Error(`the flood of ${flood} broke off`)
  return answers
}

/** Resolves also when it is turned away at once. */
function stranger(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  return new Promise((resolve) =>
    socket.once('connect', () => resolve(socket)).once('close', () => resolve(socket)),
  )
}

async function client({ port, token }: Target): Promise<WebSocket> {
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers, perMessageDeflate: false })
  socket.on('error', () => {})
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return socket
}

if (import.meta.main) {
  const [port, token, flood] = process.argv.slice(2) as [string, string, Flood]
  await floods[flood]({ port: Number(port), token })
}
