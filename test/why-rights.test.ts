// What `why` tells an agent about a repository that is open to it: nothing of files outside of the repository, and nothing of what a
// person said in a session that the agent does not own. By a bound token, and by the bridge of a chat or a coding session.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bridgeWorld, type BridgeSeat } from '../src/operations/cc/bridge-world.ts'
import { hashOf, newToken, writeTokenRecords } from '../src/store/gateway-tokens.ts'
import { EditedRepository } from './support/edited-repository.ts'
import { openHouse, rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'

const token = newToken()
const secret = 'the herring is under the stairs'
let house: House
let world: EditedRepository

beforeAll(async () => {
  house = await openHouse({
    before(dir) {
      world = new EditedRepository('shop', join(dir, '.claude'))
      const agents = { list: [{ id: 'main' }, { id: 'work' }] }
      const config = { agents, coding: { repos: { shop: world.root } }, claude: { credential: 'none' } }
      writeFileSync(join(dir, 'rockpool.json'), JSON.stringify(config))
      const hash = hashOf(token).toString('base64url')
      writeTokenRecords(dir, [{ name: 'w', scopes: ['read'], agentId: 'work', createdAt: 0, hash }])
    },
  })
})
afterAll(async () => {
  await house.close()
  world.remove()
})

const seat = (more: Partial<BridgeSeat> = {}): BridgeSeat => ({
  agentId: 'work',
  repoPath: world.root,
  ...more,
})

/** What each of the three says about it, errors too. */
async function answers(target: string): Promise<string[]> {
  const asked = await Promise.all([
    rpc(house, 'why.ask', { target, repo: world.root }, token),
    rpc(house, 'why.ask', { target, repo: world.root, text: true }, token),
    bridgeWorld(house.app, seat())
      .why(target)
      .catch((error: unknown) => String(error)),
  ])
  return asked.map((answer) => JSON.stringify(answer))
}

test('no file outside of the repository is read through a link, committed or not', async () => {
  const outside = join(world.folder, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'diary.txt'), `${secret}\n`)
  const links: Array<[name: string, to: string]> = [
    ['untracked.txt', join(outside, 'diary.txt')],
    ['relative.txt', '../outside/diary.txt'],
    ['committed.txt', join(outside, 'diary.txt')],
    ['folder', outside],
  ]
  for (const [name, to] of links) symlinkSync(to, join(world.root, name))
  world.git('add', 'committed.txt')
  world.git('commit', '-q', '-m', 'Add a link')
  const targets = ['untracked.txt', 'relative.txt', 'committed.txt', 'folder/diary.txt']
  for (const target of targets.flatMap((name) => [name, `${name}:1`, `./${name}:1-1`]))
    for (const answer of await answers(target)) expect(answer).not.toContain('herring')
  const { error } = await rpc(house, 'why.ask', { target: 'untracked.txt:1', repo: world.root }, token)
  expect(error?.message).toMatch(/untracked\.txt is a link, and links are not followed/)
  for (const [name] of links) rmSync(join(world.root, name))
})

test("an agent gets no prompt of a person's session; a session in a terminal does", async () => {
  const session = world.session(`Write it down: ${secret}`)
  session.create(
    'src/login.ts',
    'export const herring = openTheDoorOf(stairs)\nexport const second = herring + 1\n',
  )
  world.commit('Add the login')
  for (const answer of await answers('src/login.ts:1')) {
    expect(answer).toContain('"confidence":"unknown"')
    expect(answer).not.toMatch(new RegExp(`${secret}|${session.sessionId}`))
  }
  const own = await bridgeWorld(house.app, seat({ pid: process.pid })).why('src/login.ts:1')
  expect(own).toMatchObject({ confidence: 'exact', prompt: `Write it down: ${secret}` })
})
