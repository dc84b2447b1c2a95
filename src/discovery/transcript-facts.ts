// The facts of one transcript file after reading it up to some offset. Plain data: it is stored in the index, and a later
// scan continues from there. Texts are stored without secrets. Also how the texts of user records are read: which of them are real
// prompts, the marker that programs put in front of a first message, and prompts that only say to continue.
import type { TokenCounts } from '../domain/costs.ts'
import { cutBetweenWords, makeRedactor } from '../domain/redact.ts'

/** Characters that are kept of a prompt or a title. */
export const keptChars = 400

/** The facts that every transcript has, before its first line is read. */
export function newFacts(): TranscriptFacts {
  return { ...noCounts, branches: [], models: [] }
}

export const noTokens: TokenCounts = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheCreationTokens: 0,
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
  ...noTokens,
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
  /** Claude's usage limit that stopped the session, if nothing follows in the transcript. */
  limit?: { window?: string; until: number }
  /** Tokens that the model wrote in the last call. */
  lastAnswerTokens?: number
  /** The usage of sub-agents in progress records of this file, by the name of the transcript that repeats it. */
  reportedAgents?: Record<string, TokenCounts & { costUsd: number }>
  /** Of other agents: the id of a sub-agent's own transcript; `sessionId` is the session that it belongs to. */
  threadId?: string
  /** Of other agents: a turn has begun and not ended. */
  isTurnOpen?: boolean
  /** Of other agents: the size of the context window, if the agent recorded it. */
  contextWindow?: number
  /** Of other agents: where the reader continues. */
  reader?: unknown
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

export type PromptText = { kind: 'prompt' | 'command'; text: string } | { kind: 'nothing' }

/** A program wrote it: a tag at the beginning, or the note of an interruption. */
const byProgram = /^(?:\s*<[a-z][\w-]*[\s>]|\[Request interrupted by user[^\]]*\])/
const command = /<command-name>(.*?)<\/command-name>/
const shell = /<bash-input>([\s\S]*?)<\/bash-input>/

/** The rules are those of Claude's own list of sessions: a command is not a prompt, and `!` runs a shell command. */
export function readPrompt(text: string): PromptText {
  if (text.trim() === '') return { kind: 'nothing' }
  const name = command.exec(text)?.[1]
  if (name !== undefined) return { kind: 'command', text: name }
  const line = shell.exec(text)?.[1]
  if (line !== undefined) return { kind: 'prompt', text: `! ${line.trim()}` }
  return byProgram.test(text) ? { kind: 'nothing' } : { kind: 'prompt', text }
}

/** The content of a message: a text, or blocks. */
export function readContent(content: unknown): PromptText {
  return Array.isArray(content) ? readBlocks(content) : readPrompt(typeof content === 'string' ? content : '')
}

/** The first block that is a prompt; a picture alone is a prompt, too. */
function readBlocks(blocks: unknown[]): PromptText {
  let found: PromptText = { kind: 'nothing' }
  for (const block of blocks) {
    if (typeof block !== 'object' || block === null || !('type' in block)) continue
    if (block.type === 'text' && 'text' in block && typeof block.text === 'string') {
      const prompt = readPrompt(block.text)
      if (prompt.kind === 'prompt') return prompt
      if (found.kind === 'nothing') found = prompt
    } else if (block.type === 'image' && found.kind === 'nothing' && blocks.length === 1) {
      return { kind: 'prompt', text: '[image]' }
    }
  }
  return found
}

/** The agent in `[openclaw:agent=main]`, which programs put in front of a first message. Anybody can write it, so it does not
 *  prove who owns the session. */
export function originMarkerOf(firstMessage: string | undefined): string | undefined {
  return /\[openclaw:agent=([^\]]+)\]/.exec(firstMessage ?? '')?.[1]
}

const continuations = new Set(
  (
    'yes|yep|yeah|y|ok|okay|sure|please|no|n|go|go ahead|go on|do it|do that|proceed|continue|continue please|carry on|' +
    'keep going|resume|next|retry|try again|again|continue where you left off|continue from where you left off|' +
    'yes please|yes continue|ok continue|ok go on|please continue|please go on|please proceed|continue the work|' +
    'ja|weiter|mach weiter|oui|continue stp|continuer|sí|si|sigue|continúa|continua|va avanti|да|продолжай|はい|続けて|継続|继续|是|好'
  ).split('|'),
)

/** True if the text only says to continue ("yes", "go on"), so that it does not describe the work. */
export function isContinuation(text: string): boolean {
  const words = text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? []
  return words.length === 0 || continuations.has(words.join(' '))
}
