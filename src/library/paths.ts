// Library functions that return paths in the state directory (`ROCKPOOL_STATE_DIR`).
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { readEnvironment } from '../store/config-file.ts'
import { sessionsJsonPath, statePaths, type StatePaths } from '../store/paths.ts'
import { transcriptName } from '../store/transcripts/transcript-paths.ts'

export function resolveSessionTranscriptsDirForAgent(agentId = 'main'): string {
  return paths().sessions(agentId)
}

export function resolveDefaultSessionStorePath(agentId = 'main'): string {
  return paths().sessionsJson(agentId)
}

export function resolveSessionTranscriptPath(
  sessionId: string,
  agentId = 'main',
  topicId?: string | number,
): string {
  return join(paths().sessions(agentId), transcriptName(sessionId, topicId))
}

/** `store` as the configuration has it: a path that may contain `{agentId}` and begin with `~`. */
export function resolveStorePath(store?: string, opts: { agentId?: string } = {}): string {
  const template = store?.trim().replace(/^~(?=\/|$)/, readEnvironment().home || homedir())
  return resolve(sessionsJsonPath(opts.agentId ?? 'main', paths(), template))
}

function paths(): StatePaths {
  return statePaths(readEnvironment().stateDir)
}
