// The sub-agents of a session: their names, from the metadata file that Claude Code keeps beside each of their transcripts, and
// their costs.
import type { Anatomy } from '../domain/transcript-views.ts'
import type { Subagent } from '../domain/discovered-session.ts'
import { parseRecord } from '../domain/json.ts'
import type { SessionFiles } from './assemble.ts'
import { redacted, type TranscriptFacts } from './transcript-facts.ts'
import { subagentIdIn } from './list-files.ts'
import type { KnownFile } from './native-index.ts'
import { readForeign } from '../store/disk/foreign-file.ts'

const ending = '.jsonl'

interface Metadata {
  agentType?: string
  description?: string
  toolUseId?: string
  isFinished: boolean
}

/** In the order in which they started. `facts`: of their transcripts, by path. */
export function subagentsOf(
  { subagents }: SessionFiles,
  facts: ReadonlyMap<string, TranscriptFacts>,
  isRunning: boolean,
): Subagent[] {
  return subagents
    .flatMap((known) => subagentOf(known, facts.get(known.file.path), isRunning) ?? [])
    .sort((a, b) => a.startedAt - b.startedAt)
}

function subagentOf(
  known: KnownFile,
  facts: TranscriptFacts | undefined,
  isRunning: boolean,
): Subagent | undefined {
  const id = idOf(known)
  if (id === undefined || !facts) return undefined
  const { file } = known
  const metadata = file.agentKind ? undefined : metadataOf(file.path)
  return {
    id,
    name: metadata?.agentType ?? 'agent',
    about: metadata?.description ?? facts.firstPrompt ?? facts.firstUserMessage ?? '',
    toolUseId: metadata?.toolUseId,
    startedAt: Date.parse(facts.firstTimestamp ?? '') || file.mtimeMs,
    lastAt: Date.parse(facts.lastTimestamp ?? '') || file.mtimeMs,
    // The oldest versions write no metadata; then it is unknown.
    isRunning: isRunning && metadata?.isFinished === false,
    model: facts.lastModel,
    costUsd: facts.costUsd,
    inputTokens: facts.inputTokens,
    outputTokens: facts.outputTokens,
    cacheReadTokens: facts.cacheReadTokens,
    filePath: file.path,
  }
}

/** In the name of the file, or in a file of another agent. */
export function idOf({ file, listFacts }: KnownFile): string | undefined {
  return file.agentKind ? listFacts.threadId : subagentIdIn(file.path)
}

function metadataOf(path: string): Metadata | undefined {
  let fields: Record<string, unknown> | undefined
  try {
    fields = parseRecord(readForeign(`${path.slice(0, -ending.length)}.meta.json`, 65_536).toString('utf8'))
  } catch {
    // There is none; the transcript is enough to list the sub-agent.
    return undefined
  }
  if (!fields) return undefined
  const textIn = (name: string): string | undefined =>
    typeof fields[name] === 'string' ? redacted(fields[name]) : undefined
  const [agentType, description, toolUseId] = ['agentType', 'description', 'toolUseId'].map(textIn)
  return { agentType, description, toolUseId, isFinished: fields['finished'] === true }
}

type SubagentCall = Anatomy['subagents'][number]

/** The sub-agents that the session called, each with its transcript if it has one; then those that only have a transcript, which
 *  are the sub-agents of sub-agents. */
export function withTranscripts(called: SubagentCall[], subagents: Subagent[]) {
  const unclaimed = new Set(subagents)
  const joined = called.map((call) => {
    const own = subagents.find(
      ({ id, toolUseId }) => id === call.id || (toolUseId !== undefined && toolUseId === call.toolUseId),
    )
    if (!own) return call
    unclaimed.delete(own)
    return { ...call, id: own.id, isRunning: own.isRunning, costUsd: own.costUsd }
  })
  const others = [...unclaimed].map(({ id, name, about, toolUseId, startedAt: at, isRunning, costUsd }) => {
    return { id, name, about, toolUseId, at, isRunning, costUsd }
  })
  return [...joined, ...others].sort((a, b) => a.at - b.at)
}
