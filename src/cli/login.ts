// `rockpool login`: runs the log-in of Claude Code itself, with the program that comes with Rockpool. Rockpool sees no password and
// stores nothing; it reads the same log-in that `claude` uses.
import { spawn } from 'node:child_process'
import { z } from 'zod'
import { lookForClaude } from '../agent/choose.ts'
import type { Connection } from '../agent/choose.ts'
import { bundledClaude } from '../agent/claude-program.ts'
import { RockpoolError } from '../domain/errors.ts'
import { loadConfig } from '../store/config-file.ts'
import { findRunningGateway } from '../store/gateway-file.ts'
import type { Host, LocalCommand } from './host.ts'
import { oneLine } from './print.ts'

export const commands: LocalCommand[] = [
  {
    name: 'login',
    description: 'Log in to Claude with the bundled Claude Code.',
    input: z.strictObject({ force: z.boolean().default(false).describe('Log in again, as somebody else.') }),
    command: { examples: ['rockpool login', 'rockpool login --json'] },
    run: (host, input, json) => logIn(host, input['force'] === true, json),
    print: (output) => {
      const { connected, source, needsRestart } = output as Login
      const next = needsRestart ? ' Restart the gateway to use it: `rockpool down`, then `rockpool up`.' : ''
      return connected ? `Claude is connected (${oneLine(source ?? '')}).${next}` : 'Claude is not connected.'
    },
  },
]

interface Login {
  connected: boolean
  source?: string
  /** The gateway was started without a log-in. */
  needsRestart: boolean
}

async function logIn(host: Host, force: boolean, json: boolean): Promise<Login> {
  const { config } = await loadConfig({ ...host.environment, configIsNamed: false })
  const look = (): Connection => lookForClaude(host.environment, config.claude.credential)
  const before = look()
  if (before.connected && !force) return { ...before, needsRestart: false }
  if (json || !host.terminal.canAsk) {
    throw new RockpoolError('usage', 'Claude is not connected, and logging in needs a terminal.', {
      hint: 'Run `rockpool login` in a terminal, or set ANTHROPIC_API_KEY.',
    })
  }
  await runLogin(config.claude.binary ?? bundledClaude() ?? 'claude')
  const after = look()
  if (!after.connected)
    throw new RockpoolError('unauthorized', 'Claude is still not connected.', { hint: after.hint })
  return { ...after, needsRestart: findRunningGateway(host.environment.stateDir) !== undefined }
}

async function runLogin(claude: string): Promise<void> {
  const child = spawn(claude, ['auth', 'login'], { stdio: 'inherit' })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', resolve)
  })
  if (code !== 0) throw new RockpoolError('refused', 'The log-in of Claude Code did not finish.')
}
