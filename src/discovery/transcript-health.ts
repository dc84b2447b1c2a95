// Checks the health of a transcript: which records a resume would reach, and which it would lose.
import { RockpoolError } from '../domain/errors.ts'
import type { DiscoveredSession, SessionHealth } from '../domain/discovered-session.ts'
import { readChain, type Chain, type ChainRecord } from '../store/transcripts/claude-chain.ts'

export async function sessionHealth(session: DiscoveredSession): Promise<SessionHealth> {
  const { agentKind, sessionId, filePath, state } = session
  if (agentKind !== 'claude') return agentHealth(session)
  return checkHealth(sessionId, filePath, state === 'working' || state === 'needs you')
}

/** `isInTurn`: a tool that still runs, or waits for permission, has no result yet. */
export async function checkHealth(sessionId: string, path: string, isInTurn = false): Promise<SessionHealth> {
  return healthOf(
    sessionId,
    await readChain(path).catch((error: unknown) => Promise.reject(asDeleted(error, sessionId))),
    isInTurn,
  )
}

/** The transcript may have been deleted before the index noticed. */
function asDeleted(error: unknown, sessionId: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return error
  return new RockpoolError('not-found', `The transcript of ${sessionId} was deleted.`, {
    hint: '`rockpool cc list` shows the sessions that are left.',
    cause: error,
  })
}

/** The findings for a session of another agent: only the number of unreadable lines is known. */
function agentHealth({ sessionId, messageCount, ...session }: DiscoveredSession): SessionHealth {
  const { damagedLines, overlongLines } = session
  const isDamaged = damagedLines + overlongLines > 0
  return {
    sessionId,
    verdict: isDamaged ? 'degraded' : 'sound',
    records: messageCount,
    reachable: messageCount,
    reachableShare: messageCount === 0 ? 0 : 1,
    orphanedToolResults: 0,
    unansweredToolCalls: 0,
    tornLines: 0,
    damagedLines,
    overlongLines,
    branchPoints: 0,
    twoWriters: false,
    brokenLinks: 0,
    findings: isDamaged ? [unreadable(damagedLines + overlongLines)] : [],
  }
}

function unreadable(lines: number): string {
  return lines === 1 ? '1 line could not be read.' : `${lines} lines could not be read.`
}

export function healthOf(sessionId: string, chain: Chain, isInTurn = false): SessionHealth {
  const records = [...chain.links.values()].filter((link) => link.kind !== 'note')
  const reached = records.filter((link) => chain.reached.has(link.uuid))
  const { orphaned, unanswered } = toolsOf(reached)
  const branches = branchesOf(chain)
  const health: SessionHealth = {
    sessionId,
    verdict: 'sound',
    records: records.length,
    reachable: reached.length,
    reachableShare: records.length === 0 ? 0 : reached.length / records.length,
    orphanedToolResults: orphaned.length,
    unansweredToolCalls: isInTurn ? 0 : unanswered.length,
    tornLines: chain.isTorn ? 1 : 0,
    damagedLines: chain.damagedLines,
    overlongLines: chain.overlongLines,
    branchPoints: branches.length,
    twoWriters: branches.length > 0,
    brokenLinks: chain.breaks.length,
    findings: [],
  }
  health.findings = findingsOf(health)
  health.verdict = verdictOf(health)
  return health
}

/** Orphaned: tool results without their call, which make the API refuse the whole conversation. Unanswered: calls without
 *  a result. */
export function toolsOf(reached: ChainRecord[]): { orphaned: string[]; unanswered: string[] } {
  const calls = new Set(reached.flatMap((link) => link.calls))
  const results = new Set(reached.flatMap((link) => link.results))
  return {
    orphaned: [...results].filter((id) => !calls.has(id)),
    unanswered: [...calls].filter((id) => !results.has(id)),
  }
}

/** Branches with replies that a resume does not reach: the records at which they start. */
export function branchesOf(chain: Chain): Array<{ from: ChainRecord; lost: ChainRecord[] }> {
  const branches = new Map<string, { from: ChainRecord; lost: ChainRecord[] }>()
  const origin = new Map<string, string>()
  for (const link of chain.links.values()) {
    if (chain.reached.has(link.uuid) || link.parent === undefined) continue
    const from = chain.reached.has(link.parent) ? link.parent : origin.get(link.parent)
    if (from === undefined) continue
    origin.set(link.uuid, from)
    const branch = branches.get(from) ?? { from: chain.links.get(from)!, lost: [] }
    branch.lost.push(link)
    branches.set(from, branch)
  }
  return [...branches.values()].filter(({ lost }) => lost.some((link) => link.kind === 'assistant'))
}

function findingsOf(health: SessionHealth): string[] {
  const lost = health.records - health.reachable
  const count = (number: number, one: string, several = `${one}s`): string =>
    `${number} ${number === 1 ? one : several}`
  const say = (number: number, one: string, rest: string, several?: string): string[] =>
    number > 0 ? [`${count(number, one, several)}${rest}`] : []
  const twice = 'where the conversation was written on twice (two processes, or a rewind)'
  return [
    ...(health.records === 0 ? ['there is no conversation in the file'] : []),
    ...say(health.brokenLinks, 'broken link', ' in the chain: what came before is not reached'),
    ...say(
      health.orphanedToolResults,
      'tool result without its call',
      ': the API would refuse the conversation',
      'tool results without their calls',
    ),
    ...say(health.branchPoints, 'place', ` ${twice}: ${count(lost, 'record is', 'records are')} not reached`),
    ...say(health.unansweredToolCalls, 'tool call', ' without a result'),
    ...say(health.tornLines, 'torn line', ' at the end, as after a crash'),
    ...say(health.damagedLines, 'line that is', ' not JSON or nested too deep', 'lines that are'),
    ...say(health.overlongLines, 'line', ' too long to read'),
  ]
}

function verdictOf(health: SessionHealth): SessionHealth['verdict'] {
  if (health.findings.length === 0) return 'sound'
  const isCut = health.brokenLinks > 0 && health.reachableShare < 0.5
  return health.records === 0 || health.orphanedToolResults > 0 || isCut ? 'broken' : 'degraded'
}
