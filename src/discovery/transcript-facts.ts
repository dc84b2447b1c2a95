// What is known of one transcript file after reading it up to some offset. Plain data: it is stored in the index, and a later
// scan continues from there. Texts are stored without secrets.
import type { TokenCounts } from '../domain/discovered-session.ts'
import { cutBetweenWords, makeRedactor } from '../domain/redact.ts'

/** Characters that are kept of a prompt or a title. */
export const keptChars = 400

/** The facts that every transcript has, before its first line is read. */
export function newFacts(): TranscriptFacts {
  return { ...noCounts, branches: [], models: [] }
}

const noCounts = {
  /** Bytes that were read: always whole lines. */
  offset: 0,
  lineCount: 0,
  /** Records of type user and assistant. */
  messageCount: 0,
  promptCount: 0,
  replyCount: 0,
  /** The line of the first user record that a person wrote. */
  firstUserLine: 0,
  /** The whole file is a sub-agent's. */
  isSidechain: false,
  compactionCount: 0,
  apiErrorCount: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheCreationTokens: 0,
  cache5mTokens: 0,
  cache1hTokens: 0,
  costUsd: 0,
  costGuessed: false,
  contextTokens: 0,
  /** The time of the last billed call, in seconds since 1970. */
  lastUsageSeconds: 0,
  /** How long the cache written or read by the last call lives. */
  cacheTtlMinutes: 0 as 0 | 5 | 60,
  damagedLines: 0,
  overlongLines: 0,
}

export type TranscriptFacts = typeof noCounts & {
  /** The first user record that a person wrote: at most 400 characters. */
  firstUserMessage?: string
  /** The first real prompt: no command, no tool result. */
  firstPrompt?: string
  /** The first command, for a session that has no prompt. */
  firstCommand?: string
  lastPrompt?: string
  firstTimestamp?: string
  lastTimestamp?: string
  sessionId?: string
  /** The id of the first record of the conversation; a fork begins with a copy of that record. */
  firstUuid?: string
  cwd?: string
  firstCwd?: string
  /** The directory that the session was moved to. */
  relocatedCwd?: string
  /** All branches, in the order of their first appearance. */
  branches: string[]
  gitBranch?: string
  slug?: string
  version?: string
  entrypoint?: string
  permissionMode?: string
  customTitle?: string
  aiTitle?: string
  summary?: string
  tag?: string
  forkedFrom?: string
  costStateUsd?: number
  budgetUsedUsd?: number
  budgetUsd?: number
  /** Names of the models in the usage table, by number. */
  models: string[]
  lastModel?: string
  /** Tokens that the model wrote in the last call. */
  lastAnswerTokens?: number
  /** The usage of sub-agents in progress records of this file, by the name of the transcript that repeats it. */
  reportedAgents?: Record<string, TokenCounts & { costUsd: number }>
}

/** Claude Code writes `HEAD` where it finds no branch: outside of git, and on a commit that no branch names. */
export function branchIn(gitBranch: string | undefined): string {
  return gitBranch === undefined || gitBranch === 'HEAD' ? '' : gitBranch
}

const texts = [
  'firstUserMessage',
  'firstPrompt',
  'firstCommand',
  'lastPrompt',
  'customTitle',
  'aiTitle',
  'summary',
] as const

/** The facts with the secrets in their texts redacted. */
export function withoutSecrets(facts: TranscriptFacts): TranscriptFacts {
  const clean = { ...facts }
  for (const name of texts) {
    const text = facts[name]
    if (text !== undefined) clean[name] = redacted(text)
  }
  return clean
}

/** A text without long words, URLs and keys has no secret; this check is enough for most texts. */
const mayHaveSecret = /\S{16}|:\/\/|-----BEGIN /

export function redacted(text: string): string {
  // A text of full length was cut, perhaps within a secret.
  const whole = text.length < keptChars ? text : cutBetweenWords(text, text.length - 1)
  return mayHaveSecret.test(whole) ? makeRedactor().everything(whole) : whole
}
