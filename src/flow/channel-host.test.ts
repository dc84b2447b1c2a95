import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../domain/clock.ts'
import { silentLog } from '../domain/log.ts'
import { statePaths } from '../store/paths.ts'
import { makeChannelHost } from './channel-host.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rockpool-host-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const hostOf = (state: string, hold?: (name: string) => Promise<() => Promise<void>>) =>
  makeChannelHost({
    paths: statePaths(join(root, state)),
    environment: { machineDir: join(root, 'machine') },
    clock: systemClock,
    log: silentLog,
    takesMedia: async () => true,
    ...(hold ? { hold } : {}),
  })

test('a bot is received from once on a machine, also by Rockpools with different state directories', async () => {
  const release = await hostOf('one').hold('telegram-x', 'machine')
  await expect(hostOf('two').hold('telegram-x', 'machine')).rejects.toMatchObject({ code: 'locked' })
  expect(statSync(join(root, 'machine')).mode & 0o777).toBe(0o700)
  await release()
  await (
    await hostOf('two').hold('telegram-x', 'machine')
  )()
})

test('what is kept in a state directory is held there: two of them may each link a phone', async () => {
  const releases = [
    await hostOf('one').hold('whatsapp-default', 'state'),
    await hostOf('two').hold('whatsapp-default', 'state'),
  ]
  await expect(hostOf('one').hold('whatsapp-default', 'state')).rejects.toMatchObject({ code: 'locked' })
  for (const release of releases) await release()
})

test('with several machines, a name that is locked elsewhere is released for the others', async () => {
  let held = 0
  const hold = async () => {
    held += 1
    return async () => void (held -= 1)
  }
  const release = await hostOf('one').hold('telegram-x', 'machine')
  await expect(hostOf('two', hold).hold('telegram-x', 'machine')).rejects.toMatchObject({ code: 'locked' })
  expect(held).toBe(0)
  await release()
  const both = await hostOf('two', hold).hold('telegram-x', 'machine')
  expect(held).toBe(1)
  await both()
  expect(held).toBe(0)
})
