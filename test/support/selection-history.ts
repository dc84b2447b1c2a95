// A made-up history of work in one repository, in which it is known what was resumed for which task: twelve matters on
// five branches, resumed again and again; some tasks name their subject, some only say "continue".
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findInSessions } from '../../src/coding/queue/choose.ts'
import { systemClock } from '../../src/domain/clock.ts'
import type { DiscoveredSession } from '../../src/domain/discovered-session.ts'
import { silentLog } from '../../src/domain/log.ts'
import type { SearchQuestion } from '../../src/domain/search.ts'
import type { FindInSessions } from '../../src/domain/selection.ts'
import { indexSources } from '../../src/search/index-files.ts'
import { SearchMeaning } from '../../src/search/meaning.ts'
import { search } from '../../src/search/ranked-search.ts'
import { SearchIndex } from '../../src/search/search-index.ts'
import { discoveredSession } from './discovered-session.ts'
import { randomFrom } from './random.ts'

export interface WorkHistory {
  sessions: DiscoveredSession[]
  /** How often a session was resumed, and how often one was started (the very first is no choice). */
  resumed: number
  begun: number
}

const matters = [
  ['main', 'invoice totals rounding currency'],
  ['main', 'upload avatar resize thumbnail'],
  ['main', 'search ranking synonyms index'],
  ['login', 'password reset email token'],
  ['login', 'session cookie expiry logout'],
  ['login', 'captcha throttle signup robots'],
  ['billing', 'refund webhook stripe ledger'],
  ['billing', 'coupon discount checkout basket'],
  ['mobile', 'swipe gesture android keyboard'],
  ['mobile', 'offline cache sync conflict'],
  ['docs', 'tutorial screenshots install guide'],
  ['docs', 'changelog release notes versions'],
] as const
const goingOn = ['go on with what we had', 'and now the rest of it', 'there is one more case to cover']
const around = ['please', 'look', 'at', 'the', 'failing', 'part', 'and', 'mend', 'it']
const hour = 3_600_000
const rounds = 120

export function writeWorkHistory(folder: string): WorkHistory {
  const random = randomFrom(7)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const prompts = new Map<number, Array<{ at: number; text: string }>>()
  let at = Date.UTC(2026, 9, 1)
  let resumed = 0
  for (let round = 0; round < rounds; round++) {
    // Mostly what is on one's mind these days, sometimes anything.
    const days = Math.floor(round / 10)
    const matter = random() < 0.7 ? (days + Math.floor(random() * 4)) % 12 : Math.floor(random() * 12)
    const words = matters[matter]![1].split(' ')
    const known = prompts.get(matter) ?? []
    const isVague = known.length > 0 && random() < 0.3
    const text = isVague
      ? pick(goingOn)
      : [pick(words), ...around.slice(0, 4), pick(words), ...words.slice(1)].join(' ')
    if (known.length > 0) resumed++
    prompts.set(matter, [...known, { at, text }])
    at += hour * (1 + 5 * random())
  }
  const sessions = [...prompts].map(([matter, said]) => writeSession(folder, matter, said))
  return { sessions, resumed, begun: sessions.length - 1 }
}

/** The search over a history, as a choice uses it. */
export async function searchOfHistory(
  folder: string,
  sessions: DiscoveredSession[],
): Promise<{ find: FindInSessions; close: () => Promise<void> }> {
  const index = SearchIndex.open(join(folder, 'search.sqlite'))
  const redact = (text: string): string => text
  const sources = sessions.map(({ sessionId, filePath: path }) => ({
    kind: 'native' as const,
    sessionId,
    path,
  }))
  await indexSources(index, sources, { redact })
  const meaning = new SearchMeaning({ use: 'machine' }, systemClock, redact)
  await meaning.makeVectors(index, 60_000)
  const parts = { index, redact, now: () => Date.now(), nearest: meaning.nearestIn(index) }
  const part = { search: ({ text, ...filter }: SearchQuestion) => search(parts, text, filter) }
  const find = findInSessions({ search: part, clock: systemClock, log: silentLog })
  const close = async (): Promise<void> => {
    meaning.close()
    await index.close()
  }
  return { find, close }
}

function writeSession(
  folder: string,
  matter: number,
  said: Array<{ at: number; text: string }>,
): DiscoveredSession {
  const [branch] = matters[matter]!
  const sessionId = `matter-${matter}`
  const records = said.flatMap(({ at, text }) => {
    const about = { isSidechain: false, sessionId, gitBranch: branch, cwd: '/repo' }
    const time = (plus: number): string => new Date(at + plus).toISOString()
    const answer = { id: `m${at}`, content: [{ type: 'text', text: 'Done.' }] }
    return [
      { type: 'user', message: { role: 'user', content: text }, timestamp: time(0), ...about },
      { type: 'assistant', message: answer, timestamp: time(1_000), ...about },
    ]
  })
  const filePath = join(folder, `${sessionId}.jsonl`)
  writeFileSync(filePath, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return discoveredSession({
    sessionId,
    filePath,
    branch,
    firstMessage: said[0]!.text,
    messageCount: records.length,
    lastModified: new Date(said.at(-1)!.at),
  })
}
