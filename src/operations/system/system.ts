// How Rockpool itself is: status, health, configuration, log.
import { z } from 'zod'
import { showConfig } from './config-show.ts'
import { showLogs } from './logs.ts'
import { operation } from '../operation.ts'
import { showStatus } from './status.ts'

export const operations = [
  showStatus,
  showConfig,
  showLogs,
  operation({
    name: 'health',
    description: 'Say whether the gateway is well.',
    input: z.strictObject({}),
    output: z.object({
      ok: z.boolean(),
      version: z.string(),
      pid: z.number(),
      uptimeMs: z.number(),
      gateway: z.boolean().describe('Was it the gateway that answered?'),
    }),
    scope: 'read',
    command: { examples: ['rockpool health', 'rockpool health --json'] },
    async run(app) {
      const uptimeMs = app.clock.now() - app.startedAt
      const gateway = app.gateway !== undefined
      return { ok: true, version: app.version, pid: process.pid, uptimeMs, gateway }
    },
  }),
]
