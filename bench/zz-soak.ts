import { mkdtempSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { openClient, startGateway } from './gateway/program.ts'
const dir = mkdtempSync('/tmp/rockpool-soak-')
const g = await startGateway(dir)
const client = await openClient(g.wsUrl, g.token)
const rss = () => Number(readFileSync(`/proc/${g.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)![1]) / 1024
const anon = () => Number(readFileSync(`/proc/${g.pid}/status`, 'utf8').match(/RssAnon:\s+(\d+)/)![1]) / 1024
let sent = 0
for (let round = 0; round < 14; round++) {
  const t = Date.now()
  const target = round * 3000
  await Promise.all(Array.from({ length: 32 }, async () => { while (sent < target) { const k = `agent:main:direct:p${sent++ % 200}`; await client.call('turns.run', { sessionKey: k, message: 'A message of ordinary length. '.repeat(10) }) } }))
  const took = Date.now() - t
  const peak = rss()
  await sleep(20000)
  console.log(round, sent, 'peak', peak.toFixed(0), 'rest', rss().toFixed(0), 'anon', anon().toFixed(0), 'ms', took)
}
client.socket.close(); await g.stop(); process.exit(0)
