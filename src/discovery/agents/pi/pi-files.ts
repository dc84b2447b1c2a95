// Where pi keeps its sessions: `sessions/--<path of the project>--/<time>_<id>.jsonl`, or all in one folder where a variable names
// it. pi locks nothing, so no process can be joined to a session with certainty.
import { addAgentFile, agentHomes, filesBelow } from '../agent-files.ts'
import type { AgentReader } from '../contract.ts'
import { scanLines } from '../json-lines.ts'
import { idIn, PiTranslator, readPiSession } from './pi-records.ts'

export const piReader: AgentReader = {
  kind: 'pi',
  program: 'pi',
  homes: (environment) => [
    ...new Set([
      ...agentHomes(environment, ['PI_CODING_AGENT_SESSION_DIR'], []),
      ...agentHomes(environment, ['PI_CODING_AGENT_DIR'], ['.pi/agent/sessions'], 'sessions'),
    ]),
  ],
  list(home, listing) {
    for (const path of filesBelow(home, /\.jsonl$/, 1, listing))
      addAgentFile({ path, agentKind: 'pi', configDir: home }, listing)
  },
  scan({ path }, before) {
    const scanned = scanLines(path, (state) => new PiTranslator(state), before)
    scanned.facts.sessionId ??= idIn(path)
    return scanned
  },
  read: ({ path }) => readPiSession(path),
  resumeCommand: (sessionId) => ['pi', '--session', sessionId],
}
