// Every reader of another agent against sessions that the real programs recorded: each session gives exactly what is known to have
// happened in it, and damage in one file hides no other session.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { appendFileSync, existsSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentReaders, readerOf } from '../src/discovery/agents/readers.ts'
import type { AgentReader, AgentRecord, AgentSource } from '../src/discovery/agents/contract.ts'
import type { Listing } from '../src/discovery/list-files.ts'
import type { OtherAgent } from '../src/domain/discovered-session.ts'

const recorded = join(import.meta.dirname, 'fixtures/agents')

interface Truth {
  id: string
  parent: string | null
  parentKind: string | null
  tokens: Tokens
  [name: string]: unknown
}
interface Tokens {
  input: number
  cached: number
  cacheWrite: number
  output: number
  reasoning: number
}
interface TruthSet {
  root: string
  sessions: Truth[]
}

function truthOf(kind: OtherAgent): TruthSet[] {
  return (JSON.parse(readFileSync(join(recorded, kind, 'truth.json'), 'utf8')) as { sets: TruthSet[] }).sets
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agents-'))
  cpSync(recorded, folder, { recursive: true })
})
afterAll(() => rmSync(folder, { recursive: true }))

/** pi's sessions are below `sessions` in each recorded root. */
function homeIn(kind: OtherAgent, root: string): string {
  return kind === 'pi' ? join(root, 'sessions') : root
}

function list(reader: AgentReader, root: string): { sources: AgentSource[]; listing: Listing } {
  const listing: Listing = { files: [], side: new Map(), unreadable: [] }
  reader.list(homeIn(reader.kind, root), listing)
  return { sources: listing.files as AgentSource[], listing }
}

const sets = agentReaders.flatMap(({ kind }) => truthOf(kind).map((set) => ({ kind, ...set })))

describe.each(sets)('$kind in $root', ({ kind, root, sessions }) => {
  const reader = readerOf(kind)

  test('every session gives what happened in it', () => {
    const { sources, listing } = list(reader, join(folder, kind, root))
    const found = sources.map((source) => told(reader, source, listing))
    const byId = new Map(found.map((session) => [session.id, session]))
    expect(found).toHaveLength(sessions.length)
    for (const truth of sessions) expect(byId.get(truth.id)).toMatchObject(expected(kind, truth))
    expect(listing.unreadable).toEqual([])
  })

  test('the scan counts the same tokens, and reads nothing as damaged', () => {
    const { sources } = list(reader, join(folder, kind, root))
    const facts = sources.map((source) => reader.scan(source).facts)
    for (const { id, tokens, prompts, replies, compactions } of sessions) {
      const own = facts.find((scanned) => (scanned.threadId ?? scanned.sessionId) === id)!
      expect(own.cacheReadTokens).toBe(tokens.cached)
      expect(own.cacheCreationTokens).toBe(tokens.cacheWrite)
      expect(own.inputTokens).toBe(tokens.input - tokens.cached - tokens.cacheWrite)
      expect(own.outputTokens).toBe(tokens.output)
      expect(own.promptCount).toBe(prompts)
      expect(own.replyCount).toBe(replies)
      expect(own.compactionCount).toBe(compactions)
      expect(own.damagedLines).toBe(0)
    }
  })
})

/** What the recorded truth says, in the words of the contract. */
function expected(kind: OtherAgent, truth: Truth): Record<string, unknown> {
  const same = ['id', 'cwd', 'lastCwd', 'models', 'title', 'firstPrompt', 'firstPromptInFile', 'prompts']
  const counted = ['replies', 'toolCalls', 'editedFiles', 'tokens', 'inherited', 'tokensByModel', 'compactions']
  const rest = ['interrupted', 'errors', 'cost', 'archived']
  const wanted = [...same, ...counted, ...rest].filter((name) => name in truth)
  const branch = truth['branch'] ?? undefined
  const time = (value: unknown): unknown =>
    typeof value === 'number' ? new Date(value).toISOString() : (value ?? undefined)
  return {
    ...Object.fromEntries(wanted.map((name) => [name, truth[name] ?? undefined])),
    branch,
    // Which session an opencode fork copied is found by comparing sessions, not by reading one.
    ...(kind === 'opencode' && truth.parentKind === 'fork' ? {} : parentOf(kind, truth)),
    startedAt: time(truth['startedAt']),
    lastAt: time(truth['lastAt']),
  }
}

function parentOf(kind: OtherAgent, { parent, parentKind }: Truth): Record<string, unknown> {
  const id = kind === 'pi' ? parent?.replace(/^.*Z_|\.jsonl$/g, '') : parent
  return { parentKind: parentKind ?? undefined, parent: id ?? undefined }
}

const nothing: Tokens = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** The records of a session, added up. */
// oxlint-disable-next-line max-lines-per-function -- one field after the other
function told(reader: AgentReader, source: AgentSource, listing: Listing) {
  const { records, damaged } = reader.read(source)
  expect(damaged).toBe(0)
  const of = <Kind extends AgentRecord['kind']>(kind: Kind) =>
    records.filter((record): record is Extract<AgentRecord, { kind: Kind }> => record.kind === kind)
  const own = <T extends AgentRecord>(some: T[]): T[] => some.filter(({ inherited }) => !inherited)
  const about = of('session').map((record) => record.about)
  const last = <T>(values: Array<T | undefined>): T | undefined => values.findLast((value) => value !== undefined)
  const id = last(about.map((one) => one.id))!
  const side = listing.side.get(id)
  const prompts = of('prompt')
  const usage = own(of('usage'))
  const byModel: Record<string, Tokens> = {}
  for (const one of usage) {
    const sum = added([byModel[one.model] ?? nothing, tokensOf(one)])
    if (Object.values(sum).some((count) => count > 0)) byModel[one.model] = sum
  }
  const calls: Record<string, number> = {}
  for (const { name } of own(of('tool-call'))) calls[name] = (calls[name] ?? 0) + 1
  const ends = own(of('turn-end'))
  const firstPrompt = own(prompts).find(({ text }) => text)?.text
  const times = records.map(({ at }) => at).filter(Boolean)
  const { facts } = reader.scan(source)
  const cost = usage.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0)
  return {
    id,
    parent: last(about.map(({ parent }) => parent))?.id,
    parentKind: last(about.map(({ parent }) => parent))?.kind,
    cwd: about.find(({ cwd }) => cwd !== undefined)?.cwd,
    lastCwd: last(about.map(({ cwd }) => cwd)),
    branch: last(about.map(({ branch }) => branch)),
    models: [...new Set(own(of('model')).map(({ model }) => model))],
    title: side?.customTitle ?? (last(about.map(({ title }) => title)) || firstPrompt),
    firstPrompt,
    firstPromptInFile: prompts.find(({ text }) => text)?.text,
    prompts: own(prompts).length,
    replies: own(of('answer')).length,
    toolCalls: calls,
    editedFiles: [...new Set(own(of('edit')).map(({ path }) => path))],
    tokens: added(usage.map(tokensOf)),
    inherited: added(of('usage').filter((one) => one.inherited).map(tokensOf)),
    tokensByModel: byModel,
    compactions: own(of('compaction')).length,
    interrupted: ends.filter(({ outcome }) => outcome === 'interrupted').length,
    errors: ends.filter(({ outcome }) => outcome === 'failed').map(({ error }) => errorOf(reader.kind, error)),
    cost: Math.round(cost * 1e9) / 1e9,
    archived: side?.archived ?? false,
    startedAt: facts.firstTimestamp,
    lastAt: times.length === 0 ? undefined : facts.lastTimestamp,
  }
}

/** pi's messages begin with the status of the answer; Codex reports some errors as objects. */
function errorOf(kind: OtherAgent, error = ''): unknown {
  if (kind === 'pi') return error.slice(0, 3)
  return error.startsWith('{') ? JSON.parse(error) : error
}

function tokensOf(usage: Extract<AgentRecord, { kind: 'usage' }>): Tokens {
  const { input, cacheRead, cacheWrite, output, reasoning } = usage
  return { input: input + cacheRead + cacheWrite, cached: cacheRead, cacheWrite, output, reasoning }
}

function added(parts: Tokens[]): Tokens {
  const sum = { ...nothing }
  for (const part of parts) for (const name of Object.keys(sum) as Array<keyof Tokens>) sum[name] += part[name]
  return sum
}
