// What `why` tells an agent about a repository that is open to it: nothing of files outside of the repository, and nothing of what a
// person said in a session that the agent does not own, nor of a repository that is closed to it, whatever `.git` names. By a bound
// token, and by the bridge of a chat or a coding session.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { worktreesOf } from '../src/discovery/repo-paths.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bridgeWorld, type BridgeClient } from '../src/operations/cc/bridge-world.ts'
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
      writeTokenRecords(dir, [{ name: 'w', scopes: ['read', 'write'], agentId: 'work', createdAt: 0, hash }])
    },
  })
})
afterAll(async () => {
  await house.close()
  world.remove()
})

const seat = (more: Partial<BridgeClient> = {}): BridgeClient => ({
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

/** How a folder of the agent can lead git to another repository. */
const leads: Array<[how: string, make: (folder: string, other: EditedRepository) => void]> = [
  ['a .git file', (folder, { root }) => writeFileSync(join(folder, '.git'), `gitdir: ${root}/.git\n`)],
  [
    'a relative .git file',
    (folder, { root }) =>
      writeFileSync(join(folder, '.git'), `gitdir: ${relative(folder, join(root, '.git'))}`),
  ],
  [
    'the .git file of a working tree of the other repository',
    (folder, { root }) => writeFileSync(join(folder, '.git'), `gitdir: ${root}/.git/worktrees/tree\n`),
  ],
  ['a linked .git', (folder, { root }) => symlinkSync(join(root, '.git'), join(folder, '.git'))],
  [
    'commondir',
    (folder, { root }) => {
      initialize(folder)
      writeFileSync(join(folder, '.git', 'commondir'), join(root, '.git'))
    },
  ],
  ['alternates', (folder, other) => withAlternates(folder, other, storeOf(other))],
  [
    'relative alternates',
    (folder, other) => withAlternates(folder, other, relative(storeOf({ root: folder }), storeOf(other))),
  ],
  [
    'an alternate of an alternate, behind many others',
    (folder, other) => {
      const stores = Array.from({ length: 26 }, (_, at) => join(folder, `store-${at}`))
      for (const store of stores) mkdirSync(join(store, 'info'), { recursive: true })
      writeFileSync(join(stores[0]!, 'info', 'alternates'), storeOf(other))
      withAlternates(folder, other, stores.join('\n'))
    },
  ],
  [
    'a long list of alternates',
    (folder, other) => withAlternates(folder, other, `#${'x'.repeat(70_000)}\n${storeOf(other)}\n`),
  ],
  [
    'a quoted name, which is no valid quoting for git',
    (folder, other) => {
      const name = String.raw`"\u0061"`
      withAlternates(folder, other, `${name}\n`)
      const info = join(storeOf({ root: folder }), name, 'info')
      mkdirSync(info, { recursive: true })
      writeFileSync(join(info, 'alternates'), storeOf(other))
    },
  ],
  [
    'an alternate after a quoted name',
    (folder, other) => withAlternates(folder, other, `"x" ${storeOf(other)}\n`),
  ],
  [
    'a name that ends at a NUL',
    (folder, other) => {
      symlinkSync(storeOf(other), join(folder, 'link'))
      withAlternates(folder, other, `${join(folder, 'link')}\0x\n`)
    },
  ],
  [
    'a link and ..',
    (folder, other) => {
      symlinkSync(join(storeOf(other), 'info'), join(folder, 'link'))
      withAlternates(folder, other, `${folder}/link/../../objects`)
    },
  ],
  [
    'links in an alternate',
    (folder, other) => {
      const store = join(folder, 'store')
      mkdirSync(store)
      for (const name of readdirSync(storeOf(other)))
        if (name !== 'info') symlinkSync(join(storeOf(other), name), join(store, name))
      withAlternates(folder, other, store)
    },
  ],
  [
    'links to the files of an alternate',
    (folder, other) => {
      const store = join(folder, 'store')
      for (const name of readdirSync(storeOf(other))) {
        mkdirSync(join(store, name), { recursive: true })
        for (const file of readdirSync(join(storeOf(other), name)))
          symlinkSync(join(storeOf(other), name, file), join(store, name, file))
      }
      withAlternates(folder, other, store)
    },
  ],
  [
    'core.worktree',
    (folder, { root }) => {
      initialize(folder)
      execFileSync('git', ['config', 'core.worktree', root], { cwd: folder })
    },
  ],
  [
    'a linked index',
    (folder, { root }) => {
      initialize(folder)
      symlinkSync(join(root, '.git', 'index'), join(folder, '.git', 'index'))
    },
  ],
  ['a bare repository', (folder, { root }) => bareWith(folder, join(root, '.git'))],
]

// macOS has no such names.
if (process.platform === 'linux')
  leads.push(
    [
      'a name that is not UTF-8',
      (folder, other) => {
        const name = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])])
        symlinkSync(storeOf(other), name)
        withAlternates(folder, other, name)
      },
    ],
    [
      'a link to a link that is not UTF-8',
      (folder, other) => {
        const name = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])])
        symlinkSync(storeOf(other), name)
        symlinkSync(name, join(folder, 'link'))
        withAlternates(folder, other, join(folder, 'link'))
      },
    ],
  )

function initialize(folder: string): void {
  execFileSync('git', ['init', '-q', '-b', 'main', folder])
}

function storeOf({ root }: { root: string }): string {
  return join(root, '.git', 'objects')
}

/** A repository of the folder that has the commits of the other one, if `alternates` lead there. */
function withAlternates(folder: string, other: EditedRepository, alternates: string | Buffer): void {
  initialize(folder)
  writeFileSync(join(storeOf({ root: folder }), 'info', 'alternates'), alternates)
  writeFileSync(join(folder, '.git', 'refs', 'heads', 'main'), other.git('rev-parse', 'HEAD'))
}

/** The folder itself is a repository, with objects of another one. */
function bareWith(folder: string, other: string): void {
  for (const name of ['HEAD', 'refs', 'config'])
    cpSync(join(other, name), join(folder, name), { recursive: true })
  symlinkSync(join(other, 'objects'), join(folder, 'objects'))
}

describe('a folder of the agent that leads git to a repository that is closed to the agent', () => {
  let other: EditedRepository
  let folder: string

  beforeAll(() => {
    other = new EditedRepository('diary')
    other.write('herring.txt', `${secret}\n`)
    other.commit(`Note that ${secret}`)
    other.write('stairs-untracked.txt', 'x\n')
    other.git('worktree', 'add', '-q', join(other.folder, 'tree'), '-b', 'tree')
    folder = join(house.app.paths.workspace('work'), 'trap')
  })
  beforeEach(() => mkdirSync(folder, { recursive: true }))
  afterEach(() => rmSync(folder, { recursive: true }))
  afterAll(() => other.remove())

  test.each(leads)('by %s is refused', async (_how, make) => {
    make(folder, other)
    const calls: Array<[method: string, params: object]> = [
      ['project.status', { repo: folder, github: false }],
      ['why.ask', { repo: folder, target: 'herring.txt:1' }],
      ['why.ask', { repo: folder, target: 'HEAD' }],
      ['cc.select', { repo: folder, task: 'x' }],
      ['coding.launch', { workdir: folder, prompt: 'x', fresh: true }],
      ['schedules.add', { when: 'in 2 hours', text: 'x', do: 'coding', workdir: folder }],
    ]
    for (const [method, params] of calls) {
      const { result, error } = await rpc(house, method, params, token)
      const told = JSON.stringify({ result, error })
      expect({ method, told }).toMatchObject({
        told: expect.stringContaining('uses a git repository that is closed'),
      })
      expect(told).not.toMatch(/herring|stairs/)
    }
    const seated = bridgeWorld(house.app, seat({ repoPath: folder }))
    for (const ask of [() => seated.projectStatus(), () => seated.why('herring.txt:1')])
      await expect(ask()).rejects.toMatchObject({ code: 'refused' })
  })

  test('is shown to the operator', async () => {
    leads[0]![1](folder, other)
    const { result } = await rpc(house, 'project.status', { repo: folder, github: false })
    expect(JSON.stringify(result)).toContain(secret)
  })

  test('gives the bridge no session of the other repository', async () => {
    const there = new EditedRepository('diary', join(house.dir, '.claude'))
    there.session(secret).create('x.txt', 'x\n')
    initialize(folder)
    const link = join(folder, '.git', 'worktrees', 'x')
    mkdirSync(link, { recursive: true })
    writeFileSync(join(link, 'gitdir'), join(there.root, '.git'))
    expect(worktreesOf(folder)).toEqual([realpathSync(folder)])
    expect(JSON.stringify(await bridgeWorld(house.app, seat({ repoPath: folder })).sessions())).not.toContain(
      secret,
    )
    there.remove()
  })
})

test('working trees of a repository that is open to the agent, and of one that has them in its list, are open', async () => {
  const workspace = house.app.paths.workspace('work')
  const tree = join(workspace, 'feature')
  world.git('worktree', 'add', '-q', tree, '-b', 'feature')
  const other = new EditedRepository('lent')
  const lent = join(workspace, 'lent')
  other.git('worktree', 'add', '-q', lent, '-b', 'lent')
  for (const [repo, subject] of [
    [tree, 'Begin'],
    [lent, 'Begin'],
    [world.root, 'Begin'],
  ]) {
    const { result, error } = await rpc(house, 'project.status', { repo, github: false }, token)
    expect({ repo, error }).toEqual({ repo, error: undefined })
    expect(JSON.stringify(result)).toContain(subject)
  }
  expect(worktreesOf(tree)).toEqual(expect.arrayContaining([world.root]))
  expect((await rpc(house, 'why.ask', { repo: tree, target: 'README.md:1' }, token)).error).toBeUndefined()
  other.remove()
})

test('clones with objects of a repository that is open to the agent are open', async () => {
  const workspace = house.app.paths.workspace('work')
  const clone = (name: string, ...args: string[]) => {
    execFileSync('git', ['clone', '-q', ...args, join(workspace, name)], { cwd: workspace })
    return join(workspace, name)
  }
  const source = relative(realpathSync(workspace), world.root)
  const shared = clone('shared', '--shared', source)
  const referring = clone('referring', '--reference', world.root, `file://${world.root}`)
  const both = clone('both', '--reference', shared, '--reference', referring, `file://${world.root}`)
  const relatively = clone('relatively', '--shared', source)
  writeFileSync(
    join(storeOf({ root: relatively }), 'info', 'alternates'),
    `# The shop\n${relative(storeOf({ root: realpathSync(relatively) }), storeOf(world))}\n`,
  )
  // Two that name each other.
  writeFileSync(
    join(storeOf({ root: shared }), 'info', 'alternates'),
    `${storeOf(world)}\n${storeOf({ root: both })}\n`,
  )
  for (const repo of [shared, referring, both, relatively]) {
    const { result, error } = await rpc(house, 'project.status', { repo, github: false }, token)
    expect({ repo, error }).toEqual({ repo, error: undefined })
    expect(JSON.stringify(result)).toContain('Begin')
  }
})
