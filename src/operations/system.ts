// How Rockpool itself is: health, configuration.
import { z } from 'zod'
import { operation } from './operation.ts'

export const operations = [
  operation({
    name: 'health',
    says: 'Say whether the gateway is well.',
    input: z.strictObject({}),
    output: z.object({ ok: z.boolean(), version: z.string(), pid: z.number(), uptimeMs: z.number() }),
    scope: 'read',
    async run(app) {
      const uptimeMs = app.clock.now() - app.startedAt
      return { ok: true, version: app.version, pid: process.pid, uptimeMs }
    },
  }),
]
