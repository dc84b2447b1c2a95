// The part of a transcript's facts that lists need of every file, to group, filter and sort sessions. A machine may have 50,000 files, so
// only this part stays in memory; the facts are read from the index for the sessions that are shown.
import { noTokens, type TranscriptFacts } from './transcript-facts.ts'

/** Facts that are taken as they are. */
const copied = [
  ...([
    'sessionId',
    'firstUuid',
    'forkedFrom',
    'firstTimestamp',
    'lastTimestamp',
    'cwd',
    'firstCwd',
  ] as const),
  ...(['relocatedCwd', 'gitBranch', 'tag', 'threadId', 'reportedAgents', 'isSidechain', 'offset'] as const),
  ...(['messageCount', 'contextTokens', 'costUsd', 'costGuessed'] as const),
  ...(Object.keys(noTokens) as Array<keyof typeof noTokens>),
]

export interface ListFacts extends Pick<TranscriptFacts, (typeof copied)[number]> {
  title?: string
  /** The session has a text by which a person can recognize it. */
  hasText: boolean
  /** The file has records, or was damaged. */
  hasRecords: boolean
  /** Of other agents: the beginning of the first prompt, to recognize copies. */
  start?: string
}

const startLength = 80

export function listFactsOf(facts: TranscriptFacts, isOtherAgent: boolean): ListFacts {
  const { firstPrompt, firstCommand, customTitle, aiTitle, summary, lastPrompt } = facts
  const title = customTitle ?? aiTitle ?? summary
  return {
    ...(Object.fromEntries(copied.map((name) => [name, facts[name]])) as Pick<
      ListFacts,
      (typeof copied)[number]
    >),
    title,
    hasText: Boolean(firstPrompt ?? firstCommand ?? title ?? lastPrompt),
    hasRecords: facts.messageCount > 0 || facts.damagedLines > 0,
    start: isOtherAgent ? firstPrompt?.slice(0, startLength) : undefined,
  }
}

/** Thousands of files have the same directories and branches, so each text is kept once. */
export class ListFactsReader {
  readonly #texts = new Map<string, string>()

  /** `sessionId`: as the name of the file says it; its records mostly name the same. Throws if the text is damaged. */
  read(stored: string, sessionId: string | undefined): ListFacts {
    const listFacts = JSON.parse(stored) as ListFacts
    if (listFacts.sessionId === sessionId) listFacts.sessionId = sessionId
    listFacts.cwd = this.#once(listFacts.cwd)
    listFacts.firstCwd = this.#once(listFacts.firstCwd)
    listFacts.gitBranch = this.#once(listFacts.gitBranch)
    return listFacts
  }

  #once(text: string | undefined): string | undefined {
    if (text === undefined) return undefined
    const known = this.#texts.get(text)
    if (known === undefined) this.#texts.set(text, text)
    return known ?? text
  }
}
