import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeMovableClock } from '../../test/support/movable-clock.ts'
import { readTopics, writeQualitySessions } from '../../test/support/search-quality.ts'
import type { Embedder, SearchFilter, SearchSource } from '../domain/search.ts'
import { SearchIndex } from './search-index.ts'
import { languagesOf, openEmbedder, SearchMeaning } from './meaning.ts'
import { indexSources } from './index-files.ts'
import { NearestPassages } from './nearest-passages.ts'
import { search, type NearPassage } from './ranked-search.ts'
import { addSomeVectors } from './index-tiers.ts'

let folder: string
let index: SearchIndex
const redact = (text: string): string => text.replaceAll('hunter2', '[redacted]')

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-meaning-'))
  index = SearchIndex.open(join(folder, 'search.sqlite'))
})
afterEach(async () => {
  await index.close()
  rmSync(folder, { recursive: true })
})

function source(name: string, text: string, agentIds?: string[]): SearchSource {
  const path = join(folder, `${name}.jsonl`)
  writeFileSync(path, `${JSON.stringify({ type: 'user', message: { role: 'user', content: text } })}\n`)
  return { kind: 'native', path, sessionId: name, agentIds }
}

/** Knows two things: boats and food. */
const boatsAndFood: Embedder = {
  name: 'boats-and-food',
  languages: 'English',
  embed: async (texts) =>
    texts.map((text) =>
      Float32Array.of(
        /boat|ship|vessel/.test(text) ? 1 : 0,
        /bread|meal/.test(text) ? 1 : /ship/.test(text) ? 0.2 : 0,
      ),
    ),
}

async function found(text: string, filter: SearchFilter, embedder = boatsAndFood): Promise<string[]> {
  while (await addSomeVectors(index, embedder, redact));
  const near = new NearestPassages(index, embedder)
  const nearest = (question: string): Promise<NearPassage[]> => near.find(question, filter)
  const { hits, notes } = await search({ index, redact, now: () => 0, nearest }, text, filter)
  const isOnlyNear = notes.includes('No message has these words; these are the nearest in meaning.')
  expect(isOnlyNear).toBe(hits.length > 0 && hits.every(({ by }) => by.join() === 'meaning'))
  return hits.map(({ sessionId, by }) => `${sessionId} by ${by.join(', ')}`)
}

test('other words for the same thing are found, and an agent finds only its own', async () => {
  const sources = [
    source('harbour', 'the boat is in the harbour', ['main']),
    source('kitchen', 'the bread is ready', ['main']),
    source('theirs', 'a boat of theirs', ['support']),
  ]
  await indexSources(index, sources, { redact })
  expect(await found('vessel', { agentId: 'main' })).toEqual(['harbour by meaning'])
  expect((await found('ship', {})).sort()).toEqual(['harbour by meaning', 'theirs by meaning'])
  expect(await found('weather', {})).toEqual([])
})

test('what has all the words comes before what has one of them and is nearer in meaning', async () => {
  const sources = [
    source('all', 'the build has a flaky ship test'),
    source('some', 'a ship that is unsteady'),
  ]
  await indexSources(index, [...sources, source('near', 'an unsteady vessel')], { redact })
  const unsteady: Embedder = {
    ...boatsAndFood,
    name: 'unsteady',
    embed: async (texts) =>
      texts.map((text) => Float32Array.of(...(/unsteady|^flaky/.test(text) ? [1, 0] : [0, 1]))),
  }
  // Most of the words are there, so meaning is not asked.
  expect(await found('flaky ship', {}, unsteady)).toEqual(['all by words', 'some by words'])
  const others = await found('flaky anchor rope', {}, unsteady)
  expect(others.toSorted()).toEqual(['all by words', 'near by meaning', 'some by meaning'])
})

test('what only resembles the question stays below a session that has the words, however they are spread', async () => {
  const spread = source('spread', 'a flaky thing')
  const lines = ['the anchor', 'a long rope'].map((text) =>
    readFileSync(spread.path, 'utf8').replace('a flaky thing', text),
  )
  writeFileSync(spread.path, lines.join(''), { flag: 'a' })
  await indexSources(index, [spread, source('near', 'an unsteady vessel')], { redact })
  const unsteady: Embedder = {
    ...boatsAndFood,
    name: 'unsteady',
    embed: async (texts) =>
      texts.map((text) => Float32Array.of(...(/unsteady|mast|^flaky anchor/.test(text) ? [1, 0] : [0, 1]))),
  }
  expect(await found('flaky rope mast', {}, unsteady)).toEqual([
    'near by meaning',
    'spread by words',
    'spread by words',
  ])
  const words = await found('flaky anchor rope', {}, unsteady)
  expect(words.slice(0, 3)).toEqual(['spread by words', 'spread by words', 'near by meaning'])
})

test('what is gone does not crowd out what is there', async () => {
  const gone = Array.from({ length: 60 }, (_, i) => source(`gone-${i}`, 'the boat'))
  await indexSources(index, gone, { redact })
  expect(await found('vessel', {})).toHaveLength(1)
  // A file that no source names any more is forgotten; its vectors stay until there are many of them.
  await indexSources(index, [source('left', 'a ship, seldom seen')], { redact })
  expect(await found('vessel', {})).toEqual(['left by meaning'])
})

test('vectors are kept in batches, and made again for another model', async () => {
  const ships = source('ships', 'ship number 0')
  const line = (i: number): string => readFileSync(ships.path, 'utf8').replace('number 0', `number ${i}`)
  writeFileSync(ships.path, Array.from({ length: 1_100 }, (_, i) => line(i)).join(''))
  await indexSources(index, [ships], { redact })
  await found('vessel', {})
  const counts = [...index.vectors.from('boats-and-food', 0)].map(({ count }) => count)
  expect(counts).toEqual([1_024, 76])
  await index.vectors.tidy('boats-and-food')
  expect(index.backlog.newest('vector', 1)).toEqual([])
  await index.vectors.tidy('another')
  expect(index.vectors.isEmpty()).toBe(true)
  expect(index.backlog.newest('vector', 3_000)).toHaveLength(1_100)
})

test('an endpoint that speaks as OpenAI’s does gives the vectors, and is sent no secret', async () => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (data: Buffer) => (body += data.toString()))
    request.on('end', () => {
      asked.push(`${request.url} ${request.headers.authorization} ${body}`)
      const { input } = JSON.parse(body) as { input: string[] }
      const data = input.map((text, i) => ({
        index: i,
        embedding: /boat|vessel/.test(text) ? [3, 0, 0] : [0, 2, 0],
      }))
      response.end(JSON.stringify({ data: data.reverse() }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const settings = { use: 'provider' as const, url, model: 'm', apiKey: 'k', languages: 'all' }
  try {
    await indexSources(index, [source('one', 'the boat hunter2'), source('two', 'bread')], { redact })
    const embedder = (await openEmbedder(settings))!
    expect(await found('vessel', {}, embedder)).toEqual(['one by meaning'])
    expect(asked[0]).toMatch(/^\/v1\/embeddings Bearer k/)
    expect(asked.join()).not.toContain('hunter2')
  } finally {
    server.close()
  }
  await expect((await openEmbedder(settings))!.embed(['x'])).rejects.toMatchObject({ code: 'unavailable' })
  const near = new NearestPassages(index, (await openEmbedder(settings))!)
  const nearest = (question: string): Promise<NearPassage[]> => near.find(question, {})
  // The provider is away now: the words are found all the same, and the answer says what is missing.
  const { hits, notes } = await search({ index, redact, now: () => 0, nearest }, 'boat keel mast', {})
  expect(hits.map(({ sessionId }) => sessionId)).toEqual(['one'])
  expect(notes).toEqual([expect.stringMatching(/^By word only: .*could not be reached/)])
})

test('the model and the vectors are in memory until five minutes after the last search', async () => {
  const clock = makeMovableClock()
  const meaning = new SearchMeaning({ use: 'machine' }, clock, redact)
  await indexSources(index, [source('harbour', 'the boat is in the harbour')], { redact })
  await meaning.makeVectors(index, 1_000)
  const nearest = meaning.nearestIn(index)!
  const find = async (): Promise<number> => (await nearest('a ship at the dock', {})).length
  expect(await find()).toBe(1)
  // What is only in memory is still found; what was unloaded is not on disk any more.
  const file = new DatabaseSync(join(folder, 'search.sqlite'))
  file.exec('DELETE FROM vectors')
  file.close()
  await clock.advance(4 * 60_000)
  expect(await find()).toBe(1)
  await clock.advance(4.9 * 60_000)
  expect(await find()).toBe(1)
  await clock.advance(5 * 60_000)
  expect(await find()).toBe(0)
  meaning.close()
})

test('the word vectors that Rockpool brings know what is near', async () => {
  const embedder = (await openEmbedder({ use: 'machine' }))!
  const texts = ['the car does not start in winter', 'vehicle dead in the cold', 'a recipe for bread', '大阪']
  const [car, vehicle, bread, unknown] = await embedder.embed(texts)
  expect(likeness(car!, vehicle!)).toBeGreaterThan(likeness(car!, bread!) + 0.1)
  expect(unknown!.every((value) => value === 0)).toBe(true)
  expect([embedder.languages, languagesOf({ use: 'machine' })]).toEqual(['English', 'English'])
})

function likeness(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array): number =>
    x.reduce((sum, value, k) => sum + value * y[k]!, 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

test('a question of words that the table does not know finds nothing, however many passages there are', async () => {
  const topics = readTopics()
  await indexSources(index, writeQualitySessions(join(folder, 'topics'), topics), { redact })
  const embedder = (await openEmbedder({ use: 'machine' }))!
  expect(await found(topics[0]!.questions[0]!, {}, embedder)).not.toEqual([])
  for (const nonsense of ['zzzzqq', 'xqwrtp', 'hjkl', 'abcd1234', 'the zzzzqq', '12 xqwrtp'])
    expect([
      nonsense,
      ...(await found(nonsense, {}, embedder)).filter((hit) => hit.includes('meaning')),
    ]).toEqual([nonsense])
})
