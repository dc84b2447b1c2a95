// One machine for benches: the whole way of a message on a shared PostgreSQL, with the offline agent. It joins, says that it is
// ready, and then takes turns of messages that wait, or of people who write to it; at the end it says how many a second.
// Usage: node machine-worker.ts <url> <schema> <name> <turns at once> <ms of a turn> [<people> <messages of each>]
import { once } from 'node:events'
import { openMachine } from './machine-flow.ts'
import { writingPeople } from './writing-people.ts'

const [url = '', schema = '', name = '', ...numbers] = process.argv.slice(2)
const [turnsAtOnce = 4, delayMs = 50, people = 0, each = 0] = numbers.map(Number)
const account = people > 0 ? name : undefined
const machine = await openMachine({ url, schema, machine: name, account, turnsAtOnce, delayMs })
const writers = writingPeople(machine.flow, people, name)
if (people > 0) {
  machine.start()
  await writers.rate(3)
}
process.stdout.write('ready\n')
await once(process.stdin, 'data')
machine.start()
if (people > 0) process.stdout.write(`${await writers.rate(each)}\n`)
await once(process.stdin, 'data')
await machine.stop()
process.exit(0)
