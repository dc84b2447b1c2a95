// How often `rockpool why` names the right session, on repositories with simulated histories of which every line's writer is known;
// beside it what plain voting answers: the session with most lines of a commit gets all of them.
import { join } from 'node:path'
import { hashOfLine } from '../src/discovery/line-hash.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { Discovery } from '../src/domain/discovered-session.ts'
import { attributeLines } from '../src/why/attribute.ts'
import { EditReader } from '../src/why/edit-reader.ts'
import { explainCommit } from '../src/why/explain-commit.ts'
import { findEdits } from '../src/why/find-edits.ts'
import { Repositories } from '../src/why/open-repository.ts'
import type { Repository } from '../src/why/repository.ts'
import { isBot } from '../src/why/votes.ts'
import { atMost, type BenchResult } from './result.ts'
import { bot, person, SimulatedHistory, type Line, type Writer } from './why/simulated-history.ts'

const seeds = [1, 2, 3, 4]
/** Lines of each history that are asked for, one by one as people ask. */
const asked = 150
const commitsAsked = 30

/** Answers about lines or commits of sessions, and about those of people and bots. */
class Tally {
  right = 0
  wrong = 0
  unknown = 0
  others = 0
  othersNamed = 0

  note(truth: Writer | undefined, answer: Writer | undefined): void {
    if (truth === undefined) {
      this.others++
      if (answer !== undefined) this.othersNamed++
    } else if (answer === truth) this.right++
    else if (answer === undefined) this.unknown++
    else this.wrong++
  }

  share(field: 'right' | 'wrong' | 'unknown'): number {
    return (this[field] / Math.max(1, this.right + this.wrong + this.unknown)) * 100
  }

  get falseShare(): number {
    return (this.othersNamed / Math.max(1, this.others)) * 100
  }

  get text(): string {
    const [right, wrong, unknown] = (['right', 'wrong', 'unknown'] as const).map((one) =>
      this.share(one).toFixed(1),
    )
    return `${right} % right, ${wrong} % wrong, ${unknown} % unknown; of ${this.others} by people and bots ${this.falseShare.toFixed(1)} % named`
  }
}

interface Tallies {
  lines: Tally
  plainLines: Tally
  commits: Tally
  plainCommits: Tally
}

export async function bench(): Promise<BenchResult[]> {
  const tallies: Tallies = {
    lines: new Tally(),
    plainLines: new Tally(),
    commits: new Tally(),
    plainCommits: new Tally(),
  }
  for (const seed of seeds) await measure(new SimulatedHistory(seed), tallies)
  const { lines, plainLines, commits, plainCommits } = tallies
  const how = (own: Tally, plain: Tally): string =>
    `${own.text}. Plain voting: ${plain.text}. ${seeds.length} simulated histories with known writers`
  return [
    atLeast('`why file:line` names the right session', lines.share('right'), 90, how(lines, plainLines)),
    atMost('`why file:line` names a wrong session', lines.share('wrong'), 2, '%', 'the same lines'),
    atMost('lines of people and bots that get a session', lines.falseShare, 2, '%', 'the same histories'),
    atLeast('`why <commit>` names the right session', commits.share('right'), 90, how(commits, plainCommits)),
    atMost('`why <commit>` names a wrong session', commits.share('wrong'), 2, '%', 'the same commits'),
  ]
}

function atLeast(name: string, value: number, limit: number, how: string): BenchResult {
  return { name, measured: `${value.toFixed(1)} %`, wanted: `at least ${limit} %`, ok: value >= limit, how }
}

async function measure(history: SimulatedHistory, tallies: Tallies): Promise<void> {
  const { world } = history
  const discovery = world.discovery()
  const variables = { PATH: process.env['PATH'], HOME: world.folder }
  const repository = await new Repositories(variables, join(world.folder, 'graphs'), systemClock).open(
    world.root,
  )
  try {
    const plain = new PlainVoting(discovery, repository)
    const parts = { discovery, repository, plain, reader: new EditReader(discovery) }
    await measureLines(history, parts, tallies)
    await measureCommits(history, parts, tallies)
  } finally {
    await discovery.close()
    world.remove()
  }
}

interface Parts {
  discovery: Discovery
  repository: Repository
  plain: PlainVoting
  reader: EditReader
}

async function measureLines(
  history: SimulatedHistory,
  { plain, ...parts }: Parts,
  { lines, plainLines }: Tallies,
): Promise<void> {
  // A brace has no writer that anybody could name.
  const all = [...history.files].flatMap(([file, some]) =>
    some.flatMap((line, i) => (hashOfLine(line.text) === undefined ? [] : [{ file, line, number: i + 1 }])),
  )
  const step = Math.max(1, all.length / asked)
  for (let at = 0; at < all.length; at += step) {
    const { file, line, number } = all[Math.floor(at)]!
    const attributed = (await attributeLines(parts, file, { from: number, to: number })).lines[0]!
    const { confidence, edit } = attributed.verdict
    const truth = writerOf(line, history)
    lines.note(truth, confidence === 'unknown' ? undefined : edit?.sessionId)
    plainLines.note(truth, attributed.sha && (await plain.of(attributed.sha)))
  }
}

/** Undefined for people, bots, and sessions that left no transcript. */
function writerOf({ by }: Line, { lost }: SimulatedHistory): Writer | undefined {
  return by === person || by === bot || lost.has(by) ? undefined : by
}

async function measureCommits(
  history: SimulatedHistory,
  { plain, ...parts }: Parts,
  { commits, plainCommits }: Tallies,
): Promise<void> {
  const known = history.commits.filter(({ lines }) =>
    lines.some(({ text }) => hashOfLine(text) !== undefined),
  )
  for (const { sha, lines, madeBy } of known.slice(-commitsAsked)) {
    const isKnown = madeBy !== undefined && !history.lost.has(madeBy)
    const truth = isKnown ? madeBy : mostOf(lines.map((line) => writerOf(line, history)))
    const { session } = await explainCommit({ ...parts, mayRead: () => true }, sha)
    commits.note(truth, session?.sessionId)
    plainCommits.note(truth, await plain.of(sha))
  }
}

function mostOf(writers: ReadonlyArray<Writer | undefined>): Writer | undefined {
  const counts = Map.groupBy(writers, (writer) => writer)
  return [...counts].sort(([, a], [, b]) => b.length - a.length)[0]?.[0]
}

/** The session that had written most of a commit's lines before; all other lines are ignored. */
class PlainVoting {
  readonly #discovery: Discovery
  readonly #repository: Repository

  constructor(discovery: Discovery, repository: Repository) {
    this.#discovery = discovery
    this.#repository = repository
  }

  async of(sha: string): Promise<Writer | undefined> {
    const commit = (await this.#repository.diffs([sha])).get(sha)!
    if (isBot(commit)) return undefined
    const files = [...new Set(commit.added.map(({ file }) => file))]
    const { byFile } = await findEdits(this.#discovery, this.#repository, files, [])
    const votes = commit.added.flatMap(({ file, hash }) =>
      (byFile.get(file) ?? [])
        .filter(({ seconds, lines }) => seconds <= commit.committedAt && lines.includes(hash ?? -1))
        .map(({ sessionId }) => sessionId),
    )
    return mostOf(votes)
  }
}
