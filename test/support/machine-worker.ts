// One machine for benches: the whole way of a message on a shared PostgreSQL, with the offline agent. It joins, says that
// it is ready, and takes turns on request.
// Usage: node machine-worker.ts <url> <schema> <name> <turns at once> <ms of a turn>
import { once } from 'node:events'
import { openMachine } from './machine-flow.ts'

const [url = '', schema = '', name = '', turnsAtOnce = '4', delayMs = '50'] = process.argv.slice(2)
const numbers = { turnsAtOnce: Number(turnsAtOnce), delayMs: Number(delayMs) }
const machine = await openMachine({ url, schema, machine: name, ...numbers })
process.stdout.write('ready\n')
await once(process.stdin, 'data')
machine.start()
await once(process.stdin, 'data')
await machine.stop()
process.exit(0)
