import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { ClaudeProcesses } from '../store/sqlite/claude-processes.ts'
import { descendantsOf, identifyProcess, isSameProcess } from '../store/disk/process-identity.ts'
import type { ProcessIdentity } from '../store/disk/process-identity.ts'
import { endTree } from './process.ts'

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

test('a process tree ends even if it will not (3.9 no. 10)', async () => {
  const { root, tree } = await stubbornTree()
  expect(tree.length).toBeGreaterThan(1)
  await endTree(root, 100)
  expect(tree.filter(isSameProcess)).toEqual([])
})

test('a process that took the number of another one is left alone', async () => {
  const decoy = spawn('sleep', ['30'])
  const identity = identifyProcess(decoy.pid!)!
  await endTree({ ...identity, startTime: '1' }, 50)
  expect(isSameProcess(identity)).toBe(true)
  decoy.kill('SIGKILL')
})

test('only processes whose Rockpool is gone are orphans', async () => {
  const processes = openProcesses()
  const child = spawn('sleep', ['30'])
  const identity = identifyProcess(child.pid!)!
  await processes.add(identity, 'a')
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
    await processes.add(identifyProcess(child.pid), 'chat')
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
  expect(orphans.map((orphan) => orphan.pid)).toEqual([Number(line.toString())])
  for (const orphan of orphans) await endTree(orphan, 200)
  await processes.tidy()
  expect(processes.orphans()).toEqual([])
  expect(await processes.lease('some-session', 'other')).toEqual({ taken: true })
  await processes.close()
})

test('a process that will not end when its Rockpool crashed is ended a moment later', async (ctx) => {
  if (process.platform !== 'linux') ctx.skip('elsewhere it is ended at the next start')
  const here = (name: string): string => JSON.stringify(join(import.meta.dirname, name))
  const script = `
    import { spawn } from 'node:child_process'
    import { once } from 'node:events'
    import { LastWatch } from ${here('process-reaper.ts')}
    import { identifyProcess } from ${here('../store/disk/process-identity.ts')}
    const child = spawn('sh', ['-c', ${JSON.stringify(stubborn)}], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    await once(child.stdout, 'data')
    const watch = new LastWatch()
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
