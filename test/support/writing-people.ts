// People who write in a chat, each in a session of their own: the load of the benches.
import type { FlowBench } from './flow-bench.ts'

export interface WritingPeople {
  names: string[]
  /** Sends a message; resolves when it is answered, to the time that this took. The replies of one session come in order. */
  write(person: string): Promise<number>
  /** Each person sends so many messages, the next one when the last was answered. Resolves to messages a second. */
  rate(each: number): Promise<number>
}

export function writingPeople(flow: FlowBench, count: number, prefix = 'p'): WritingPeople {
  const waiting = new Map<string, Array<() => void>>()
  const send = flow.channel.send.bind(flow.channel)
  flow.channel.send = async (address, reply, options) => {
    const outcome = await send(address, reply, options)
    waiting.get(address.to)?.shift()?.()
    return outcome
  }
  const names = Array.from({ length: count }, (_, n) => `${prefix}${n}`)
  const write = async (person: string): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.set(person, [...(waiting.get(person) ?? []), resolve])
    const began = performance.now()
    await flow.channel.say('a message of ordinary length, as people write them', { from: person })
    await promise
    return performance.now() - began
  }
  const writeMany = async (person: string, times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await write(person)
  }
  return {
    names,
    write,
    async rate(each) {
      const began = performance.now()
      await Promise.all(names.map((person) => writeMany(person, each)))
      return (count * each) / ((performance.now() - began) / 1_000)
    },
  }
}
