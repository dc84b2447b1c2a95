// The machines that share the database, and where repositories are: what a launch can be sent to.
import { hostname } from 'node:os'
import { z } from 'zod'
import type { Machine } from '../../domain/machine.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'

const list = operation({
  name: 'machines.list',
  description: 'List the machines that share the database, with their labels and repositories.',
  input: z.strictObject({}),
  output: z.object({
    machines: z.array(
      z.object({
        name: z.string(),
        labels: z.array(z.string()),
        isHere: z.boolean().describe('The one that answers.'),
        running: z.number().describe('How many coding sessions run there.'),
        awaySince: z.number().optional().describe('When it was last heard of; absent while it lives.'),
        repositories: z.array(
          z.object({
            path: z.string(),
            name: z.string().optional(),
            origin: z.string().optional(),
            rootCommit: z.string().optional(),
          }),
        ),
      }),
    ),
  }),
  scope: 'read',
  operatorOnly: true,
  heavyParts: ['coding'],
  command: { examples: ['rockpool machines', 'rockpool machines --json'] },
  async run(app) {
    const { machines } = app.coding()
    return { machines: machines ? await machines.list() : [thisOne(app)] }
  },
})

function thisOne(app: App): Machine {
  const { name = hostname(), labels } = app.config.machine
  const running = app.storage.coding.list({ running: true }).length
  return { name, labels, isHere: true, running, repositories: [] }
}

export const operations = [list]
