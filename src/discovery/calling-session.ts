// The Claude session in whose shell or tools this process runs. What such a process sends is the session's word, not the owner's.
import { RockpoolError } from '../domain/errors.ts'
import { loadConfig, type Environment } from '../store/config-file.ts'
import { ancestorsOf } from '../store/disk/process-identity.ts'
import { configDirsOf } from './list-files.ts'
import { readLiveSessions } from './registries.ts'

/** The ancestors of the process decide, because a session can set any environment variable. Undefined: a person's own terminal. */
export async function callingSession(environment: Environment): Promise<string | undefined> {
  const { config } = await loadConfig(environment)
  const above = new Set(ancestorsOf(process.pid))
  const live = readLiveSessions(configDirsOf({ ...environment, discovery: config.discovery }))
  const around = [...live.values()].find(({ pid }) => above.has(pid))
  const named = environment.variables['CLAUDE_CODE_SESSION_ID']?.toLowerCase()
  const found = around?.sessionId ?? named
  if (found !== undefined || !environment.variables['CLAUDECODE']) return found
  throw new RockpoolError(
    'forbidden',
    'This shell belongs to a Claude Code session that Rockpool cannot identify.',
    {
      hint: 'Run the command in a terminal of your own.',
    },
  )
}
