// The machines that share the database: their list, and the requests that they send each other.
import { hostname } from 'node:os'
import { z } from 'zod'
import { machine } from '../../domain/machine.ts'
import type { Machine } from '../../domain/machine.ts'
import type { Giver } from '../../domain/giver.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import type { ResumeOptions } from '../../coding/session/resume-session.ts'
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
    look: (_recipient, given) => lookAt(app, machines.name, given as { path: string; agentId?: string }),
    'take-over': () => pool.takeOver(),
  })
}

export const operations = [list]
