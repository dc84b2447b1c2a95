import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { findOwnCgroup, makeCgroup, removeCgroup } from '../store/disk/cgroup.ts'
import { ClaudeProcesses } from '../store/sqlite/claude-processes.ts'
import { identifyProcess, isSameProcess } from '../store/disk/process-identity.ts'
import { descendantsOf } from '../../test/support/descendants.ts'
import type { ProcessIdentity } from '../store/disk/process-identity.ts'
import { newMarker } from '../store/disk/process-scope.ts'
import type { AgentProcess } from './process.ts'
import { endProcesses, spawnProcess } from './process.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function openProcesses(folder = mkdtempSync(join(tmpdir(), 'rockpool-processes-'))): ClaudeProcesses {
  folders.push(folder)
  return new ClaudeProcesses(join(folder, 'processes.sqlite'))
}

const stubborn = 'trap "" TERM; setsid sh -c \'trap "" TERM; echo ready; sleep 60\' & wait; wait'

/** A process that ignores SIGTERM, with a child in a session of its own that ignores it too. */
async function stubbornTree(): Promise<{ root: ProcessIdentity; tree: ProcessIdentity[] }> {
  const child = spawn('sh', ['-c', stubborn], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  const root = identifyProcess(child.pid!)!
  return { root, tree: [root, ...descendantsOf(root.pid)] }
}

test('a process tree that ignores signals is ended (3.9 no. 10)', async () => {
  const { root, tree } = await stubbornTree()
  expect(tree.length).toBeGreaterThan(1)
  await endProcesses({ root, marker: newMarker() }, 100)
  expect(tree.filter(isSameProcess)).toEqual([])
})

test('a process that took the number of another one is left alone', async () => {
  const decoy = spawn('sleep', ['30'])
  const identity = identifyProcess(decoy.pid!)!
  await endProcesses({ root: { ...identity, startTime: '1' }, marker: newMarker() }, 50)
  expect(isSameProcess(identity)).toBe(true)
  decoy.kill('SIGKILL')
})

/** A shell in place of Claude that starts so many processes, which print their numbers, and ends on a signal. */
async function detach(
  script: string,
  count: number,
  cgroups?: string,
): Promise<{ claude: AgentProcess; detached: ProcessIdentity[] }> {
  const { signal } = new AbortController()
  const args = ['-c', `${script} read -r line`]
  const claude = spawnProcess({ command: 'sh', args, env: { PATH: process.env['PATH'] }, signal }, cgroups)
  let said = ''
  claude.spawned.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await expect.poll(() => said.split('\n').length - 1, { timeout: 10_000 }).toBe(count)
  return {
    claude,
    detached: said
      .trim()
      .split('\n')
      .map((pid) => identifyProcess(Number(pid))!),
  }
}

const sleeper = 'sh -c "echo \\$\\$; exec sleep 300"'

test('processes that a process detached are ended when it exits; those of others are not', async () => {
  const other = await detach(`setsid ${sleeper} &`, 1)
  const { claude, detached } = await detach(`setsid ${sleeper} & ${sleeper} & (setsid ${sleeper} &);`, 3)
  claude.spawned.stdin.write('end\n')
  await claude.exited
  await claude.end()
  expect(detached.filter(isSameProcess)).toEqual([])
  expect(other.detached.filter(isSameProcess)).toHaveLength(1)
  await other.claude.end(0)
  expect(other.detached.filter(isSameProcess)).toEqual([])
})

test('in a cgroup also a detached process with an empty environment is ended, and no cgroup is left', async (ctx) => {
  const cgroups = cgroupsHere() ?? ctx.skip('no cgroup can be made here')
  const { claude, detached } = await detach(`env -i setsid ${sleeper} &`, 1, cgroups)
  expect(existsSync(claude.scope.cgroup!)).toBe(true)
  claude.spawned.stdin.write('end\n')
  await claude.exited
  await claude.end()
  expect(detached.filter(isSameProcess)).toEqual([])
  expect(existsSync(claude.scope.cgroup!)).toBe(false)
})

function cgroupsHere(): string | undefined {
  const cgroups = findOwnCgroup()
  const made = cgroups && makeCgroup(cgroups, `rockpool-test-${process.pid}`)
  if (made) removeCgroup(made)
  return made && cgroups
}

test('only processes whose Rockpool is gone are orphans', async () => {
  const processes = openProcesses()
  const child = spawn('sleep', ['30'])
  const identity = identifyProcess(child.pid!)!
  await processes.add({ root: identity, marker: newMarker() }, 'a')
  expect(processes.orphans()).toEqual([])
  await processes.remove(identity)
  child.kill('SIGKILL')
  await processes.close()
})

test('the orphans of a Rockpool that crashed are found and ended by number and start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-orphans-'))
  const path = join(folder, 'processes.sqlite')
  // Another process registers a child of its own and is killed.
  const script = `
    import { spawn } from 'node:child_process'
    import { ClaudeProcesses } from ${JSON.stringify(join(import.meta.dirname, '../store/sqlite/claude-processes.ts'))}
    import { identifyProcess } from ${JSON.stringify(join(import.meta.dirname, '../store/disk/process-identity.ts'))}
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
    const processes = new ClaudeProcesses(${JSON.stringify(path)})
    await processes.add({ root: identifyProcess(child.pid) }, 'chat')
    await processes.lease('some-session', 'chat')
    console.log(child.pid)
    setInterval(() => {}, 1000)`
  const rockpool = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(rockpool.stdout, 'data')) as [Buffer]
  const processes = openProcesses(folder)
  expect(processes.orphans()).toEqual([])
  expect(await processes.lease('some-session', 'other')).toMatchObject({ taken: false })
  rockpool.kill('SIGKILL')
  await once(rockpool, 'exit')
  const orphans = processes.orphans()
  expect(orphans.map(({ root }) => root.pid)).toEqual([Number(line.toString())])
  for (const orphan of orphans) await endProcesses(orphan, 200)
  expect(orphans.map(({ root }) => root).filter(isSameProcess)).toEqual([])
  await processes.removeDead()
  expect(processes.orphans()).toEqual([])
  expect(await processes.lease('some-session', 'other')).toEqual({ taken: true })
  await processes.close()
})

test('what a Claude that is gone detached is found after a crash of its Rockpool', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-detached-'))
  const rockpool = await crashable(`
    const processes = new ClaudeProcesses(${JSON.stringify(join(folder, 'processes.sqlite'))})
    const claude = spawnProcess({ command: 'sh', args: ['-c', ${JSON.stringify(`setsid ${sleeper} & read -r line`)}], env: process.env })
    await processes.add(claude.scope, 'chat')
    const [line] = await once(claude.spawned.stdout, 'data')
    console.log(String(line).trim())`)
  const detached = identifyProcess(Number(rockpool.said))!
  const processes = openProcesses(folder)
  expect(processes.orphans()).toEqual([])
  rockpool.child.kill('SIGKILL')
  await once(rockpool.child, 'exit')
  const [orphan, ...more] = processes.orphans()
  expect(more).toEqual([])
  await expect.poll(() => isSameProcess(orphan!.root)).toBe(false)
  expect(isSameProcess(detached)).toBe(true)
  await endProcesses(orphan!, 200)
  expect(isSameProcess(detached)).toBe(false)
  await processes.close()
})

test.for(['marker', 'cgroup'])(
  'by its %s what Claude detached ends a moment after a crash of its Rockpool',
  async (by, ctx) => {
    if (process.platform !== 'linux') ctx.skip('elsewhere it is ended at the next start')
    const cgroups = by === 'marker' ? undefined : (cgroupsHere() ?? ctx.skip('no cgroup can be made here'))
    const started = `setsid ${sleeper} & ${cgroups ? 'env -i ' : ''}setsid ${sleeper} &`
    const rockpool = await crashable(`
    const watch = new ProcessReaper(${JSON.stringify(cgroups)})
    const claude = spawnProcess({ command: 'sh', args: ['-c', ${JSON.stringify(`${started} read -r line`)}], env: process.env }, ${JSON.stringify(cgroups)})
    watch.add(claude.scope.root)
    let said = ''
    claude.spawned.stdout.on('data', (chunk) => {
      said += chunk
      if (said.trim().split('\\n').length === 2) console.log(said.trim().replace('\\n', ' ') + ' ' + claude.scope.cgroup)
    })`)
    const [one, other, cgroup] = rockpool.said.split(' ')
    const detached = [identifyProcess(Number(one))!, identifyProcess(Number(other))!]
    rockpool.child.kill('SIGKILL')
    await expect.poll(() => detached.filter(isSameProcess), { timeout: 10_000, interval: 50 }).toEqual([])
    if (cgroups) await expect.poll(() => existsSync(cgroup!), { timeout: 10_000 }).toBe(false)
  },
)

/** Another process that runs this script and waits; what it said first. */
async function crashable(script: string): Promise<{ child: ChildProcess; said: string }> {
  const from = (name: string): string => JSON.stringify(join(import.meta.dirname, name))
  const whole = `
    import { once } from 'node:events'
    import { spawnProcess } from ${from('process.ts')}
    import { ProcessReaper } from ${from('process-reaper.ts')}
    import { ClaudeProcesses } from ${from('../store/sqlite/claude-processes.ts')}
    setInterval(() => {}, 1000)
    ${script}`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', whole], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, said: line.toString().trim() }
}

test('a process that will not end when its Rockpool crashed is ended a moment later', async (ctx) => {
  if (process.platform !== 'linux') ctx.skip('elsewhere it is ended at the next start')
  const here = (name: string): string => JSON.stringify(join(import.meta.dirname, name))
  const script = `
    import { spawn } from 'node:child_process'
    import { once } from 'node:events'
    import { ProcessReaper } from ${here('process-reaper.ts')}
    import { identifyProcess } from ${here('../store/disk/process-identity.ts')}
    const child = spawn('sh', ['-c', ${JSON.stringify(stubborn)}], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    await once(child.stdout, 'data')
    const watch = new ProcessReaper()
    watch.add({ ...identifyProcess(process.pid), pid: process.ppid })
    watch.add(identifyProcess(child.pid))
    console.log(child.pid)
    setInterval(() => {}, 1000)`
  const rockpool = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(rockpool.stdout, 'data')) as [Buffer]
  const root = identifyProcess(Number(line.toString()))!
  const tree = [root, ...descendantsOf(root.pid)]
  expect(tree.length).toBeGreaterThan(1)
  rockpool.kill('SIGKILL')
  await expect.poll(() => tree.filter(isSameProcess), { timeout: 5_000, interval: 50 }).toEqual([])
})

test('one writer for each Claude session, also within one process', async () => {
  const processes = openProcesses()
  expect(await processes.lease('s', 'chat')).toEqual({ taken: true })
  expect(await processes.lease('s', 'chat')).toEqual({ taken: true })
  expect(await processes.lease('s', 'coding')).toEqual({
    taken: false,
    holder: { pid: process.pid, key: 'chat' },
  })
  await processes.release('s', 'chat')
  expect(await processes.lease('s', 'coding')).toEqual({ taken: true })
  await processes.close()
})
