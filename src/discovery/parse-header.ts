// What a transcript says about itself, under the names of the seed.
import { originMarkerOf } from './prompt-text.ts'
import { TranscriptScanner } from './scan.ts'
import type { ScannedTranscript } from './scan.ts'

export interface JsonlHeader {
  /** The last branch. */
  gitBranch?: string
  /** All branches, in the order in which they came. */
  branches: string[]
  /** The first user record that the program did not write itself, with its line; commands included. */
  firstUserMessage?: string
  firstUserLine: number
  /** The first thing that was really asked. */
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
  /** What Claude Code itself last noted as the cost. */
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
