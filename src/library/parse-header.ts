// The facts of a transcript, with OpenClaw's field names.
import { originMarkerOf } from '../discovery/transcript-facts.ts'
import { TranscriptScanner, type ScannedTranscript } from '../discovery/transcript-scanner.ts'

export interface JsonlHeader {
  /** The last branch. */
  gitBranch?: string
  /** All branches, in the order of their first appearance. */
  branches: string[]
  /** The first user record that a person wrote, with its line; commands included. */
  firstUserMessage?: string
  firstUserLine: number
  /** The first real prompt. */
  firstPrompt?: string
  slug?: string
  version?: string
  entrypoint?: string
  permissionMode?: string
  lineCount: number
  messageCount: number
  promptCount: number
  originMarker?: string
  totalInputTokens: number
  totalOutputTokens: number
  cacheReadTokens: number
  cacheCreationTokens: number
  compactionCount: number
  /** The cost that Claude Code itself reported last. */
  reportedCostUsd?: number
  /** The file ends in the middle of a line, as after a crash. */
  torn: boolean
}

/** Reads a whole transcript, in bounded memory. */
export async function parseJsonlHeader(file: string): Promise<JsonlHeader> {
  return headerOf(new TranscriptScanner().scan(file))
}

function headerOf({ facts, tornTail }: ScannedTranscript): JsonlHeader {
  return {
    gitBranch: facts.gitBranch,
    branches: facts.branches,
    firstUserMessage: facts.firstUserMessage,
    firstUserLine: facts.firstUserLine,
    firstPrompt: facts.firstPrompt,
    slug: facts.slug,
    version: facts.version,
    entrypoint: facts.entrypoint,
    permissionMode: facts.permissionMode,
    lineCount: facts.lineCount + (tornTail ? 1 : 0),
    messageCount: facts.messageCount,
    promptCount: facts.promptCount,
    originMarker: originMarkerOf(facts.firstPrompt ?? facts.firstUserMessage),
    totalInputTokens: facts.inputTokens,
    totalOutputTokens: facts.outputTokens,
    cacheReadTokens: facts.cacheReadTokens,
    cacheCreationTokens: facts.cacheCreationTokens,
    compactionCount: facts.compactionCount,
    reportedCostUsd: facts.costStateUsd,
    torn: tornTail,
  }
}
