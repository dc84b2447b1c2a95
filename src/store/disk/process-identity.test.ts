import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import {
  ancestorsOf,
  identifyProcess,
  isSameProcess,
  readPs,
  readPsEnvironments,
} from './process-identity.ts'
import { descendantsOf } from '../../../test/support/descendants.ts'

test('a process is the same only while number and start time are the same', async () => {
  const child = spawn('sleep', ['30'])
  await once(child, 'spawn')
  const identity = identifyProcess(child.pid!)!
  expect(isSameProcess(identity)).toBe(true)
  expect(isSameProcess({ ...identity, startTime: '1' })).toBe(false)
  expect(isSameProcess({ ...identity, domain: 'linux:another-boot' })).toBe(false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isSameProcess(identity)).toBe(false)
})

test('a zombie is not a living process', async (ctx) => {
  if (process.platform !== 'linux') ctx.skip('zombies are read from /proc')
  // The shell starts a child that ends at once, and then becomes a program that never asks for it.
  const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const zombie = Number(line.toString())
  await expect.poll(() => identifyProcess(zombie)).toBeUndefined()
  parent.kill('SIGKILL')
})

test('descendants are found through all generations, also those in a session of their own', async (ctx) => {
  if (process.platform !== 'linux') ctx.skip('descendants are read from /proc')
  const script = 'setsid sh -c "sleep 30 & wait" & wait'
  const parent = spawn('sh', ['-c', script])
  await expect.poll(() => descendantsOf(parent.pid!).length).toBe(2)
  for (const { pid } of descendantsOf(parent.pid!)) process.kill(pid, 'SIGKILL')
  await once(parent, 'exit')
})

test('what ps of macOS says is read: number, parent, start; a zombie is none', () => {
  // ps -A -o pid= -o ppid= -o pgid= -o stat= -o lstart= on macOS 15, with LC_ALL=C and TZ=UTC.
  const recorded = [
    '    1     0     1 Ss   Sun Nov  1 06:02:11 2026    ',
    '  501     1   501 S    Mon Nov 16 03:12:09 2026    ',
    '73190   501 73190 S+   Mon Nov 16 03:40:00 2026    ',
    '73202 73190 73190 Z    Mon Nov 16 03:41:00 2026    ',
    '',
  ].join('\n')
  expect(readPs(recorded)).toEqual([
    { pid: 1, parent: 0, group: 1, startTime: String(Date.UTC(2026, 10, 1, 6, 2, 11) / 1000) },
    { pid: 501, parent: 1, group: 501, startTime: String(Date.UTC(2026, 10, 16, 3, 12, 9) / 1000) },
    { pid: 73190, parent: 501, group: 73190, startTime: String(Date.UTC(2026, 10, 16, 3, 40) / 1000) },
  ])
  expect(readPs('')).toEqual([])
  // Rows that outlive a process name it in one line, with blanks between the parts.
  expect(readPs(recorded).every(({ startTime }) => !startTime.includes(' '))).toBe(true)
})

test('what ps of macOS says of environments is read: only whole variables count', () => {
  const recorded = [
    '  501 sleep 30 HOME=/Users/ada ROCKPOOL_PROCESS_OF=5f0c-77 PATH=/bin',
    '73190 node server.js MY_ROCKPOOL_PROCESS_OF=5f0c-77',
    '73202 sleep 30 ROCKPOOL_PROCESS_OF=aaaa-77',
    '',
  ].join('\n')
  expect(readPsEnvironments(recorded, 'ROCKPOOL_PROCESS_OF=5f0c-')).toEqual(new Set([501]))
})

test('a real ps is read the same way', (ctx) => {
  const asked = [
    '-o',
    'pid=',
    '-o',
    'ppid=',
    '-o',
    'pgid=',
    '-o',
    'stat=',
    '-o',
    'lstart=',
    '-p',
    String(process.pid),
  ]
  let text = ''
  try {
    text = execFileSync('ps', asked, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' } })
  } catch {
    ctx.skip('there is no ps here')
  }
  const [own] = readPs(text)
  expect(own).toMatchObject({ pid: process.pid, parent: process.ppid })
  const startedMs = Date.now() - process.uptime() * 1000
  expect(Math.abs(Number(own!.startTime) * 1000 - startedMs)).toBeLessThan(60_000)
  expect(ancestorsOf(process.pid)[0]).toBe(process.ppid)
})
