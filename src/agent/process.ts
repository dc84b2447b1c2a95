// Claude's process and everything below it: started so that it ends with us, and ended so that nothing of it is left.
// Tools that Claude runs are in sessions of their own, which neither our death nor the end of a process group reaches:
// only Claude itself ends them, when it is asked to (SIGTERM), or we do, by walking down the tree.
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { SpawnOptions, SpawnedProcess } from '@anthropic-ai/claude-agent-sdk'
import type { ProcessIdentity } from '../store/disk/process-identity.ts'
import { descendantsOf, identifyProcess, isSameProcess } from '../store/disk/process-identity.ts'

export interface ClaudeProcess {
  identity: ProcessIdentity
  /** What the SDK talks to. */
  spawned: SpawnedProcess
  exited: Promise<void>
  /** The last lines it wrote on stderr: why it could not start. */
  lastWords(): string
}

/** Time to write down where things stand, before a process is ended by force. */
const graceMs = 2_000

export function spawnClaude(options: SpawnOptions): ClaudeProcess {
  const [command, args] = endingWithUs(options.command, options.args)
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  // The SDK listens for the end in many places.
  child.setMaxListeners(100)
  let tail = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (tail = (tail + text).slice(-4_000)))
  // A process that ends while we write to it is reported by its exit, not by the broken pipe.
  child.stdin.on('error', () => {})
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const identity = identifyProcess(child.pid ?? -1) ?? { pid: child.pid ?? -1, startTime: '', domain: '' }
  const spawned: SpawnedProcess = {
    stdin: child.stdin,
    stdout: child.stdout,
    get killed() {
      return child.killed
    },
    get exitCode() {
      return child.exitCode
    },
    get signalCode() {
      return child.signalCode
    },
    // The SDK's own last resort; kill the children too, or they would become orphans.
    kill: (signal) => signalTree(identity, signal),
    on: (event: 'exit' | 'error', listener: never) => void child.on(event, listener),
    once: (event: 'exit' | 'error', listener: never) => void child.once(event, listener),
    off: (event: 'exit' | 'error', listener: never) => void child.off(event, listener),
  }
  return { identity, spawned, exited, lastWords: () => tail.trim() }
}

/** Asks the process to end, waits a moment, then ends it and everything below it by force. In real time, and with timers
 *  that keep us alive: other programs do not run by our clock. */
export async function endTree(root: ProcessIdentity, waitMs = graceMs): Promise<void> {
  const tree = [root, ...descendantsOf(root.pid)]
  signalIfSame(root, 'SIGTERM')
  await gone(tree, waitMs)
  // What came into being in between belongs to the tree too.
  const late = isSameProcess(root) ? descendantsOf(root.pid) : []
  for (const identity of [...late, ...tree]) signalIfSame(identity, 'SIGKILL')
  await gone([...late, ...tree], 5_000)
}

async function gone(processes: ProcessIdentity[], withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs
  while (processes.some(isSameProcess) && performance.now() < deadline) await pause(20)
}

function signalTree(root: ProcessIdentity, signal: NodeJS.Signals): boolean {
  const below = signal === 'SIGKILL' ? descendantsOf(root.pid) : []
  for (const identity of below) signalIfSame(identity, signal)
  return signalIfSame(root, signal)
}

function signalIfSame(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isSameProcess(identity)) return false
  try {
    return process.kill(identity.pid, signal)
  } catch {
    // It ended between the look and the signal.
    return false
  }
}

/** On Linux the kernel asks Claude to end when we are gone, however we went. */
function endingWithUs(command: string, args: string[]): [string, string[]] {
  const setpriv = '/usr/bin/setpriv'
  if (process.platform !== 'linux' || !isExecutable(setpriv)) return [command, args]
  return [setpriv, ['--pdeathsig', 'TERM', '--', command, ...args]]
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
