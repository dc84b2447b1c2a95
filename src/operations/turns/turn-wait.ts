// turns.wait: waits until a message that was handed over has been answered.
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { operation } from '../operation.ts'

const lookEveryMs = 100

export const waitForTurn = operation({
  name: 'turns.wait',
  description: 'Wait until a message that was handed over is answered.',
  input: z.strictObject({
    runId: z.string().min(1).max(200).describe('What `turns.send` gave.'),
    timeoutMs: z.int().min(0).max(600_000).default(30_000).describe('How long to wait.'),
  }),
  output: z.object({
    runId: z.string(),
    status: z.enum(['ok', 'stopped', 'error', 'timeout']),
    state: z.string(),
  }),
  scope: 'read',
  command: { hidden: true },
  async run(app, { runId, timeoutMs }) {
    const until = app.clock.monotonic() + timeoutMs
    for (;;) {
      const state = await app.storage.work.inbox.state(`ask:${runId}`)
      if (state === undefined)
        throw new RockpoolError('not-found', `There is no run ${JSON.stringify(runId)}.`)
      const over = state !== 'waiting' && state !== 'running'
      if (over) return { runId, status: statusOf(state), state }
      if (app.clock.monotonic() >= until) return { runId, status: 'timeout' as const, state }
      await new Promise<void>((resolve) => void app.clock.after(lookEveryMs, resolve))
    }
  },
})

function statusOf(state: string): 'ok' | 'stopped' | 'error' {
  if (state === 'answered' || state === 'command') return 'ok'
  return state === 'stopped' || state === 'dropped' ? 'stopped' : 'error'
}
