// A process that follows the sessions of a config directory as a gateway does, with or without a vault, and says what it used.
//   node test/support/vault-follow-process.ts <root> <claude folder> fill | follow | watch
import { systemClock } from '../../src/domain/clock.ts'
import { makeEvents } from '../../src/domain/events.ts'
import { silentLog } from '../../src/domain/log.ts'
import { openDiscovery } from '../../src/discovery/discovery.ts'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { followSessions, keepAll } from '../../src/vault/follow.ts'
import { openVault } from '../../src/vault/vault.ts'

const [root = '', claude = '', job = 'fill'] = process.argv.slice(2)
const discovery = openDiscovery({
  configDirs: [claude],
  indexFile: join(root, 'index', 'discovery.sqlite'),
  registries: [],
  clock: systemClock,
  log: silentLog,
})
const vaultParts = {
  folder: join(root, 'vault'),
  indexFile: join(root, 'index', 'vault.sqlite'),
  secret: undefined,
  clock: systemClock,
  log: silentLog,
}
const say = (fact: object): void => console.log(JSON.stringify(fact))

if (job === 'fill') {
  const endWatching = await discovery.watch(() => {})
  const vault = await openVault(vaultParts)
  const [began, before] = [performance.now(), process.cpuUsage()]
  const longestTask = measureTasks()
  await keepAll({ vault, discovery })
  const pauseMs = longestTask()
  const ms = performance.now() - began
  const { user, system } = process.cpuUsage(before)
  const cpuMs = (user + system) / 1_000
  await endWatching()
  say({
    ms,
    cpuMs,
    pauseMs,
    ...(await vault.size()),
    peakMb: process.resourceUsage().maxRSS / 1024,
  })
} else {
  const events = makeEvents(() => {})
  await discovery.watch((sessionId, why) => events.emit({ type: 'native-changed', sessionId, why }))
  if (job === 'follow') {
    const vault = await openVault(vaultParts)
    await keepAll({ vault, discovery })
    followSessions({
      vault,
      shared: undefined,
      discovery,
      events,
      clock: systemClock,
      log: silentLog,
      maxBytes: 1e12,
    })
    // The follower first compares all sessions with what is kept, which is not what is measured.
    await sleep(5_000)
  }
  say({ ready: true })
  let before = process.cpuUsage()
  process.stdin.on('data', (text: Buffer) => {
    if (text.toString().startsWith('begin')) before = process.cpuUsage()
    const { user, system } = process.cpuUsage(before)
    say({ cpuMs: (user + system) / 1_000 })
  })
  process.stdin.on('end', () => process.exit())
}

/** For how long the event loop did one thing at most, in processor time of this thread: other programs do not count. */
function measureTasks(): () => number {
  const used = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  let longest = 0
  let last = used()
  const timer = setInterval(() => {
    const now = used()
    longest = Math.max(longest, now - last)
    last = now
  }, 1)
  return () => {
    clearInterval(timer)
    return longest
  }
}
