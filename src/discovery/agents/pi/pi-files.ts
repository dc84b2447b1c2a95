// Where pi keeps its sessions: `sessions/--<path of the project>--/<time>_<id>.jsonl`, or all in one folder where a variable names
// it. pi locks nothing.
import { addAgentFile, agentHomes, filesBelow, foldersIn } from '../agent-files.ts'
import type { OtherReader } from '../contract.ts'
import { scanLines } from '../json-lines.ts'
import { openByProcess } from '../running-programs.ts'
import { idIn, PiTranslator, readPiSession } from './pi-records.ts'

export const piReader: OtherReader = {
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
  live: (_homes, world) => openByProcess('pi', world),
  watched: (home) => [
    { path: home, oneFileEach: true },
    ...foldersIn(home).map((path) => ({ path, oneFileEach: true })),
  ],
  resumeCommand: (sessionId) => ['pi', '--session', sessionId],
}
