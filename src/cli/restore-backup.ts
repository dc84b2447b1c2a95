// `rockpool restore-backup`: puts a backup in the place of the state. The state that was there is moved aside.
import { resolve } from 'node:path'
import { z } from 'zod'
import { systemClock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import { restoreState } from '../store/backup.ts'
import { findRunningGateway } from '../store/gateway-file.ts'
import type { LocalCommand } from './local-command.ts'

export const commands: LocalCommand[] = [
  {
    name: 'restore-backup',
    description: 'Put a backup in the place of the state; what was there is moved aside.',
    input: z.strictObject({ from: z.string().describe('The folder of the backup.') }),
    destructive: true,
    command: {
      positional: ['from'],
      examples: ['rockpool restore-backup ~/backups/rockpool-backup-2026-11-15T09-00-00-000Z'],
    },
    async run(host, input) {
      const { stateDir } = host.environment
      const gateway = findRunningGateway(stateDir)
      if (gateway) {
        throw new RockpoolError('busy', `A gateway runs on ${stateDir} (process ${gateway.process.pid}).`, {
          hint: 'Stop it first, then restore.',
        })
      }
      return restoreState(resolve(host.cwd, String(input['from'])), stateDir, systemClock)
    },
  },
]
