// The sub-agents of a session: who they are, by the note that Claude Code keeps beside each transcript of theirs, and
// what they cost.
import { basename } from 'node:path'
import type { Anatomy } from '../domain/transcript-views.ts'
import type { Subagent } from '../domain/discovered-session.ts'
import type { SessionFiles } from './assemble.ts'
import { redacted } from './transcript-facts.ts'
import type { KnownFile } from './native-index.ts'
import { readForeign } from '../store/disk/foreign-file.ts'

const ending = '.jsonl'

interface Note {
  agentType?: string
  description?: string
  toolUseId?: string
  isFinished: boolean
}

/** In the order in which they began. */
export function subagentsOf({ subagents }: SessionFiles, isRunning: boolean): Subagent[] {
  return subagents
    .flatMap((known) => subagentOf(known, isRunning) ?? [])
    .sort((a, b) => a.startedAt - b.startedAt)
}

/** The id that is in the name of a sub-agent's transcript; undefined for a session's own. */
export function subagentIdIn(path: string): string | undefined {
  return /^agent-(.+)\.jsonl$/.exec(basename(path))?.[1]
}

function subagentOf({ file, facts }: KnownFile, isRunning: boolean): Subagent | undefined {
  const id = subagentIdIn(file.path)
  if (id === undefined) return undefined
  const noted = noteBeside(file.path)
  return {
    id,
    name: noted?.agentType ?? 'agent',
    about: noted?.description ?? facts.firstPrompt ?? facts.firstUserMessage ?? '',
    toolUseId: noted?.toolUseId,
    startedAt: Date.parse(facts.firstTimestamp ?? '') || file.mtimeMs,
    lastAt: Date.parse(facts.lastTimestamp ?? '') || file.mtimeMs,
    // The oldest versions write no such note, so it is unknown for them.
    isRunning: isRunning && noted?.isFinished === false,
    model: facts.lastModel,
    costUsd: facts.costUsd,
    inputTokens: facts.inputTokens,
    outputTokens: facts.outputTokens,
    cacheReadTokens: facts.cacheReadTokens,
    filePath: file.path,
  }
}

function noteBeside(path: string): Note | undefined {
  let note: unknown
  try {
    note = JSON.parse(readForeign(`${path.slice(0, -ending.length)}.meta.json`, 65_536).toString('utf8'))
  } catch {
    // None, or being written just now: its transcript says enough to be listed.
    return undefined
  }
  if (typeof note !== 'object' || note === null) return undefined
  const fields = note as Record<string, unknown>
  const textIn = (name: string): string | undefined =>
    typeof fields[name] === 'string' ? redacted(fields[name]) : undefined
  return {
    agentType: textIn('agentType'),
    description: textIn('description'),
    toolUseId: textIn('toolUseId'),
    isFinished: fields['finished'] === true,
  }
}

type Called = Anatomy['subagents'][number]

/** Those that were called, each with its transcript if it has one, and those that only a transcript tells of: the
 *  sub-agents of sub-agents. */
export function withTranscripts(
  called: Called[],
  subagents: Subagent[],
): Array<Called & Partial<Pick<Subagent, 'isRunning' | 'costUsd'>>> {
  const unclaimed = new Set(subagents)
  const joined = called.map((call) => {
    const own = subagents.find(
      ({ id, toolUseId }) => id === call.id || (toolUseId !== undefined && toolUseId === call.toolUseId),
    )
    if (!own) return call
    unclaimed.delete(own)
    return { ...call, id: own.id, isRunning: own.isRunning, costUsd: own.costUsd }
  })
  const others = [...unclaimed].map(({ id, name, about, toolUseId, startedAt, isRunning, costUsd }) => ({
    id,
    name,
    about,
    toolUseId,
    at: startedAt,
    isRunning,
    costUsd,
  }))
  return [...joined, ...others].sort((a, b) => a.at - b.at)
}
