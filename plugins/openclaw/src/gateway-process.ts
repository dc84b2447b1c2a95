// Rockpool's gateway as a process of this plugin: started when none runs, and ended with the service.
import type * as childProcesses from 'node:child_process'
import type { ChildProcess } from 'node:child_process'

export interface StartedGateway {
  url: string
  /** Resolves when the process has ended, for any reason. */
  ended: Promise<void>
  stop(): Promise<void>
}

const startMs = 60_000
/** The gateway lets running turns end first. */
const stopMs = 25_000

/** `command`: the program and its first arguments. */
export async function startGateway(command: readonly string[]): Promise<StartedGateway> {
  const { spawn } = childProcess()
  const [program, ...args] = command
  const child = spawn(program!, [...args, 'up', '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
  })
  try {
    const { url } = JSON.parse(await firstLine(child)) as { url: string }
    return { url, ended, stop: () => stop(child, ended) }
  } catch (error) {
    await stop(child, ended)
    throw error
  }
}

/** Loaded when it is used: most installations find a gateway that runs already. */
function childProcess(): typeof childProcesses {
  return process.getBuiltinModule('node:child_process')
}

function firstLine(child: ChildProcess): Promise<string> {
  let stdout = ''
  let stderr = ''
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`Rockpool's gateway could not be started: ${why}`))
    const timer = setTimeout(() => fail(`no answer within ${startMs / 1000} s`), startMs)
    child.once('error', (error) => fail(error.message))
    child.once('close', () => fail(stderr.trim() || 'it ended at once'))
    // Read until the end, so that a full pipe never stops the gateway.
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-2_000)))
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      const end = stdout.indexOf('\n')
      if (end < 0) return
      clearTimeout(timer)
      resolve(stdout.slice(0, end))
    })
  })
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopMs)
  await ended
  clearTimeout(timer)
}
