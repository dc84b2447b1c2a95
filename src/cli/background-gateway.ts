// A coding session outlives the command that launched it, so it needs a gateway: if none runs, the command starts one.
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { RockpoolError } from '../domain/errors.ts'
import { findGateway } from './call-operation.ts'
import type { Host } from './local-command.ts'

const readyWithinMs = 30_000
const lookMs = 50
/** The exit code of `up` when another one holds the state directory. */
const lockedCode = 5

/** Resolves when a gateway answers for this state directory, and says so if it had to be started. */
export async function ensureGateway(host: Host): Promise<void> {
  if (await findGateway(host.environment)) return
  const child = spawn(process.execPath, [host.program, 'up'], { detached: true, stdio: 'ignore' })
  child.unref()
  let ended: string | undefined
  let wasFaster = false
  child.once('error', (error) => (ended = error.message))
  child.once('exit', (code) => {
    // Another command was faster: then its gateway is as good as ours.
    if (code !== lockedCode) ended = `it ended with ${code ?? 'a signal'}`
    wasFaster = code === lockedCode
  })
  const until = performance.now() + readyWithinMs
  while (!(await findGateway(host.environment))) {
    if (ended !== undefined || performance.now() >= until) throw notStarted(ended)
    await sleep(lookMs)
  }
  if (!wasFaster) {
    host.terminal.err(
      `No gateway ran here: started one in the background (process ${child.pid}). \`rockpool down\` ends it.\n`,
    )
  }
}

function notStarted(why = 'it did not become ready'): RockpoolError {
  return new RockpoolError('unavailable', `The gateway could not be started in the background: ${why}.`, {
    hint: '`rockpool up` shows why. `--wait` needs no gateway.',
  })
}
