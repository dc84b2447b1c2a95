// The machines that share the database: their list, and the requests that they send each other.
import { hostname } from 'node:os'
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { machine } from '../../domain/machine.ts'
import type { Machine } from '../../domain/machine.ts'
import type { Giver } from '../../domain/giver.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import type { ResumeOptions } from '../../coding/session/resume-session.ts'
import type { Stopped } from '../../flow/flow-parts.ts'
import { launchHere } from './coding-launch.ts'
import type { LaunchInput } from './launch-input.ts'
import type { Caller } from '../operation.ts'
import { lookAt } from './which-machine.ts'

const list = operation({
  name: 'machines.list',
  description: 'List the machines that share the database, with their labels and repositories.',
  input: z.strictObject({}),
  output: z.object({ machines: z.array(machine) }),
  scope: 'read',
  operatorOnly: true,
  heavyParts: ['coding'],
  command: { examples: ['rockpool machines', 'rockpool machines --json'] },
  async run(app) {
    const { machines } = app.coding()
    return { machines: machines ? await machines.list() : [thisMachine(app)] }
  },
})

function thisMachine(app: App): Machine {
  const { name = hostname(), labels } = app.config.machine
  const running = app.storage.coding.list({ running: true }).length
  return { name, labels, isHere: true, running, repositories: [] }
}

/** Answers requests of other machines, with the rights of their caller. */
interface LaunchRequest {
  id: string
  input: LaunchInput & { workdir: string }
  caller: Caller
}

interface ResumeRequest {
  ref: string
  prompt: string
  options: ResumeOptions
  by: Giver
}

export interface RespondRequest {
  ref: string
  message: string
  options: { interrupt: boolean; userInitiated: boolean }
  by: Giver
}

interface StopRequest {
  sessionKey: string
  inputKey?: string
}

export function serveMachineRequests(app: App): void {
  const { machines, pool } = app.coding()
  machines?.open({
    async launch(_recipient, given) {
      // `launchThere` wrote it.
      const { id, input, caller } = given as unknown as LaunchRequest
      const { action, reason } = await launchHere(app, input, caller, id)
      return { action, reason }
    },
    async resume(_recipient, given) {
      // `resumeThere` wrote it.
      const { ref, prompt, options, by } = given as unknown as ResumeRequest
      await app.coding().givenBy(by).resume(ref, prompt, options)
    },
    async respond(_recipient, given) {
      // `respondThere` wrote it.
      const { ref, message, options, by } = given as unknown as RespondRequest
      await app.coding().givenBy(by).respond(ref, message, options)
    },
    async 'stop-turn'(_recipient, given) {
      // `stopOn` wrote it.
      const { sessionKey, inputKey } = given as unknown as StopRequest
      return (await app.conversations()).converse.stops.here({ lane: sessionKey, inputKey })
    },
    look: (_recipient, given) => lookAt(app, machines.name, given as { path: string; agentId?: string }),
    'take-over': () => pool.takeOver(),
  })
}

const stopWithinMs = 15_000

/** Lets another machine stop the turn of a session and its waiting messages, or one of them. The caller's rights were checked here. */
export async function stopOn(
  app: App,
  machine: string,
  sessionKey: string,
  inputKey?: string,
): Promise<Stopped> {
  const input = { sessionKey, inputKey }
  const request = { machine, action: 'stop-turn', input, withinMs: stopWithinMs, noAnswer: notStopped }
  return (await app.coding().machines!.request(request)) as Stopped
}

function notStopped(machine: string, wasStarted: boolean): RockpoolError {
  const what = wasStarted
    ? `${machine} was asked to stop and does not answer; the turn may still run.`
    : `${machine} works on this session and does not answer; nothing was stopped there.`
  return new RockpoolError('timed-out', what, {
    hint: `Try again in a moment. If ${machine} is down, another machine takes the turn again, and can stop it.`,
  })
}

export const operations = [list]
