// `rockpool up`: the process that holds everything live. Built up in the order that things need each other, taken
// down in the opposite one.
import type { ReadyLine, UpInput } from './cli/local-command.ts'
import { RockpoolError } from './domain/errors.ts'
import type { Environment } from './store/config-file.ts'

export interface DaemonOptions {
  environment: Environment
  version: string
  input: UpInput
  ready: (gateway: ReadyLine) => void
}

export async function runDaemon(_options: DaemonOptions): Promise<void> {
  throw new RockpoolError('unavailable', 'This build has no gateway.')
}
