import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { descendantsOf, identifyProcess, isSameProcess } from './process-identity.ts'

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
