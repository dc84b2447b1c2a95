// All readers of other agents, and functions for the sessions of any of them.
import type { AgentKind, OtherAgent } from '../../domain/agent.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { shellWord } from '../../domain/text.ts'
import { codexReader } from './codex/codex-files.ts'
import type { OtherReader } from './contract.ts'
import { geminiReader } from './gemini/gemini-files.ts'
import { opencodeReader } from './opencode/opencode-files.ts'
import { piReader } from './pi/pi-files.ts'

export const agentReaders: readonly OtherReader[] = [codexReader, geminiReader, opencodeReader, piReader]

export function readerOf(kind: OtherAgent): OtherReader {
  return agentReaders.find((reader) => reader.kind === kind)!
}

/** The name of the program whose session it is, for people. */
export function programOf(kind: AgentKind): string {
  return kind === 'claude' ? 'Claude Code' : readerOf(kind).program
}

type Known = Pick<DiscoveredSession, 'agentKind' | 'sessionId' | 'repoPath'>

/** How a person continues a session of another agent; undefined for Claude Code. */
export function resumeHint({ agentKind, sessionId, repoPath }: Known): string | undefined {
  if (agentKind === 'claude') return undefined
  const command = readerOf(agentKind).resumeCommand(sessionId).map(shellWord).join(' ')
  return `Continue it with \`${command}\`${repoPath === '' ? '' : ` in ${repoPath}`}.`
}

/** Refuses what Rockpool can do only with Claude Code's sessions. `act` completes "Rockpool cannot …". */
export function requireClaude(session: Known, act: string): void {
  if (session.agentKind === 'claude') return
  const { program } = readerOf(session.agentKind)
  throw new RockpoolError(
    'refused',
    `${session.sessionId} is a session of ${program}. Rockpool cannot ${act}.`,
    {
      hint: resumeHint(session),
    },
  )
}
