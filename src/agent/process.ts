// A process of a coding agent and everything that it starts: started so that it ends with us, and ended so that nothing of it is
// left. Tools of Claude run in sessions of their own, which a signal to the process group does not reach, and may detach
// processes from Claude's tree. So each process has a scope (store/disk/process-scope.ts).
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SpawnOptions, SpawnedProcess } from '@anthropic-ai/claude-agent-sdk'
import { attempt } from '../domain/errors.ts'
import { killCgroup, makeCgroup, removeCgroup } from '../store/disk/cgroup.ts'
import { identifyProcess, isSameProcess, type ProcessIdentity } from '../store/disk/process-identity.ts'
import type { ProcessScope } from '../store/disk/process-scope.ts'
import { cgroupName, markerVariable, newMarker, processesOf } from '../store/disk/process-scope.ts'

export interface AgentProcess {
  scope: ProcessScope
  /** The process as the SDK expects it. */
  spawned: SpawnedProcess
  exited: Promise<void>
  /** Ends the process and everything that it started. Called by itself when the process exits. */
  end: (waitMs?: number) => Promise<void>
  /** The last lines on stderr: why the process could not start. */
  stderrTail(): string
}

/** Time to finish writing before a process is killed. */
const graceMs = 2_000

/** The same for processes that Claude left running. */
const leftoverGraceMs = 500

/** `cgroups`: the parent of a cgroup for this process, if one can be created there. */
export function spawnProcess(options: SpawnOptions, cgroups?: string): AgentProcess {
  const marker = newMarker()
  const cgroup = cgroups === undefined ? undefined : makeCgroup(cgroups, cgroupName(marker))
  const [command, args] = insideCgroup(cgroup, endingWithUs([options.command, options.args]))
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...options.env, [markerVariable]: marker },
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
  const root = identifyProcess(child.pid ?? -1) ?? { pid: child.pid ?? -1, startTime: '', domain: '' }
  const scope = { root, marker, cgroup }
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
    // Used by the SDK as its last resort. The processes that Claude started are ended after Claude's exit.
    kill: (signal) => signalIfSame(root, signal),
    on: (event: 'exit' | 'error', listener: never) => void child.on(event, listener),
    once: (event: 'exit' | 'error', listener: never) => void child.once(event, listener),
    off: (event: 'exit' | 'error', listener: never) => void child.off(event, listener),
  }
  let ending: Promise<void> | undefined
  const end = (waitMs?: number): Promise<void> => (ending ??= endProcesses(scope, waitMs))
  void exited.then(() => end())
  return { scope, spawned, exited, end, stderrTail: () => tail.trim() }
}

/** Sends Claude SIGTERM, waits a moment, then kills what is left of the scope. In real time, because other programs do not run
 *  by our clock, and with timers that keep this process alive. */
export async function endProcesses(scope: ProcessScope, waitMs = graceMs): Promise<void> {
  let found = processesOf(scope)
  // Claude ends its tools itself.
  signalIfSame(scope.root, 'SIGTERM')
  await gone([scope.root], waitMs)
  found = processesOf(scope, found)
  for (const identity of found) signalIfSame(identity, 'SIGTERM')
  await gone(found, Math.min(waitMs, leftoverGraceMs))
  await killProcesses(scope, found)
  if (scope.cgroup !== undefined) removeCgroup(scope.cgroup)
}

/** A process may start another one while it is being ended, so the scope is searched until it is empty. */
async function killProcesses(scope: ProcessScope, known: ProcessIdentity[]): Promise<void> {
  const deadline = performance.now() + 5_000
  let found = known
  while (found.length > 0 && performance.now() < deadline) {
    if (scope.cgroup !== undefined) killCgroup(scope.cgroup)
    for (const identity of found) signalIfSame(identity, 'SIGKILL')
    await gone(found, deadline - performance.now())
    found = processesOf(scope, found)
  }
}

async function gone(processes: ProcessIdentity[], withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs
  while (processes.some(isSameProcess) && performance.now() < deadline) await pause(20)
}

function signalIfSame(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isSameProcess(identity)) return false
  // Fails if it ended between the check and the signal.
  return attempt(() => process.kill(identity.pid, signal), false)
}

type Command = [command: string, args: string[]]

/** On Linux the kernel sends Claude SIGTERM when this process dies, however it dies. */
function endingWithUs([command, args]: Command): Command {
  const setpriv = '/usr/bin/setpriv'
  const isExecutable = attempt(() => {
    accessSync(setpriv, constants.X_OK)
    return true
  })
  if (process.platform !== 'linux' || !isExecutable) return [command, args]
  return [setpriv, ['--pdeathsig', 'TERM', '--', command, ...args]]
}

/** The command joins the cgroup before it starts anything. If that is refused, only the marker identifies its processes. */
function insideCgroup(cgroup: string | undefined, [command, args]: Command): Command {
  if (cgroup === undefined) return [command, args]
  const script = '{ echo 0 > "$0"; } 2> /dev/null; exec "$@"'
  return ['/bin/sh', ['-c', script, join(cgroup, 'cgroup.procs'), command, ...args]]
}
