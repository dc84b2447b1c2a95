// A gateway or another server in a process of its own, and a client that calls it as fast as it can.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'

/** Starts a program and waits for its first line. */
export function startProgram(
  args: string[],
  env: Record<string, string>,
): Promise<{ process: ChildProcess; line: string }> {
  const { NODE_EXTRA_CA_CERTS: _unused, ...rest } = process.env
  const child = spawn(process.execPath, args, {
    env: { ...rest, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
      if (text.includes('\n')) resolve({ process: child, line: text })
    })
    child.on('exit', (code) => reject(new Error(`${args[0]} ended with ${code}`)))
  })
}

export interface BenchGateway {
  url: string
  wsUrl: string
  pid: number
  token: string
  /** Resolves when the process has ended. */
  stop(): Promise<void>
}

/** The built gateway with this state directory. */
export async function startGateway(dir: string): Promise<BenchGateway> {
  const program = join(import.meta.dirname, '../../bin/rockpool.js')
  const started = await startProgram([program, 'up', '--port', '0', '--json'], {
    ROCKPOOL_STATE_DIR: dir,
    HOME: dir,
  })
  const { url, wsUrl, pid } = JSON.parse(started.line) as { url: string; wsUrl: string; pid: number }
  const token = readFileSync(join(dir, 'credentials', 'gateway-token'), 'utf8').trim()
  const ended = new Promise<void>((resolve) => started.process.once('exit', () => resolve()))
  const stop = (): Promise<void> => {
    started.process.kill('SIGTERM')
    return ended
  }
  return { url, wsUrl, pid, token, stop }
}

export interface BenchClient {
  socket: WebSocket
  call(method: string, params: object): Promise<void>
}

export async function openClient(url: string, token?: string): Promise<BenchClient> {
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  const socket = new WebSocket(url, { headers, perMessageDeflate: false, maxPayload: 100 << 20 })
  const waiting = new Map<number, () => void>()
  let next = 1
  socket.on('message', (data: Buffer) => {
    const text = data.toString('utf8')
    // An event of a subscription.
    if (text.includes('"method":"event"')) return
    const id = Number(text.match(/"id":(\d+)/)![1])
    if (text.includes('"error":{"code"')) throw new Error(text.slice(0, 500))
    waiting.get(id)!()
    waiting.delete(id)
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    socket,
    call: (method, params) =>
      new Promise((resolve) => {
        const id = next++
        waiting.set(id, resolve)
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      }),
  }
}

/** User and system time of a process, in clock ticks of 10 ms. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** The process has done what was left to do (a scan, a copy of all sessions), and has collected its garbage. */
export async function untilIdle(pid: number, seconds = 12): Promise<void> {
  for (let quiet = 0; quiet < seconds; quiet++) {
    const before = cpuMsOf(pid)
    await sleep(1_000)
    if (cpuMsOf(pid) - before > 50) quiet = 0
  }
}

/** `VmRSS` is the resident size now, `VmHWM` the largest so far. */
export function memoryMbOf(pid: number, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${which}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024
}

/** The median time of one round. */
export async function p50(rounds: number, work: (n: number) => Promise<void>): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < rounds; n++) {
    const began = performance.now()
    await work(n)
    times.push(performance.now() - began)
  }
  return times.sort((a, b) => a - b)[rounds >> 1]!
}
