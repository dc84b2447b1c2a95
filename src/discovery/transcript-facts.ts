// What is known of one transcript file after reading it up to some offset. Plain data: it is stored in the index, and a later
// scan continues from there. Texts are stored without secrets.
import type { TokenCounts } from '../domain/discovered-session.ts'
import { cutBetweenWords, makeRedactor } from '../domain/redact.ts'

/** Characters that are kept of a prompt or a title. */
export const keptChars = 400

export interface TranscriptFacts {
  /** Bytes that were read: always whole lines. */
  offset: number
  lineCount: number
  /** Records of type user and assistant. */
  messageCount: number
  promptCount: number
  replyCount: number
  /** The first user record that a person wrote: its line and its text (at most 400 characters). */
  firstUserLine: number
  firstUserMessage?: string
  /** The first real prompt: no command, no tool result. */
  firstPrompt?: string
  /** The first command, for a session that has no prompt. */
  firstCommand?: string
  lastPrompt?: string
  firstTimestamp?: string
  lastTimestamp?: string
  sessionId?: string
  /** Of the first record of the conversation: a fork begins with a copy of it. */
  firstUuid?: string
  /** Is the whole file a sub-agent's? */
  isSidechain: boolean
  cwd?: string
  firstCwd?: string
  /** Where the session was moved to, if it was. */
  relocatedCwd?: string
  /** All branches in order of their first appearance. */
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
  compactionCount: number
  apiErrorCount: number
  costStateUsd?: number
  budgetUsedUsd?: number
  budgetUsd?: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheCreationTokens: number
  cache5mTokens: number
  cache1hTokens: number
  costUsd: number
  costGuessed: boolean
  /** Names of the models in the usage table, by number. */
  models: string[]
  lastModel?: string
  contextTokens: number
  /** What the model wrote in the last call. */
  lastAnswerTokens?: number
  /** Of the last call that was billed, in seconds since 1970. */
  lastUsageSeconds: number
  /** How long the cache written or read by the last call lives. */
  cacheTtlMinutes: 0 | 5 | 60
  damagedLines: number
  overlongLines: number
  /** What sub-agents used according to progress records in this file, by the name of the transcript that repeats it. */
  reportedAgents?: Record<string, TokenCounts & { costUsd: number }>
}

/** Claude Code writes `HEAD` where it finds no branch: outside of git, and on a commit that no branch names. */
export function branchIn(gitBranch: string | undefined): string {
  return gitBranch === undefined || gitBranch === 'HEAD' ? '' : gitBranch
}

export function newFacts(): TranscriptFacts {
  return {
    offset: 0,
    lineCount: 0,
    messageCount: 0,
    promptCount: 0,
    replyCount: 0,
    firstUserLine: 0,
    isSidechain: false,
    branches: [],
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
    models: [],
    contextTokens: 0,
    lastUsageSeconds: 0,
    cacheTtlMinutes: 0,
    damagedLines: 0,
    overlongLines: 0,
  }
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
