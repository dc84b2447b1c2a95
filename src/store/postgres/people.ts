// Who may talk, in PostgreSQL. `find` and `known` must answer without waiting, so everybody who may talk is in memory too.
// Another machine's change arrives with its signal, or at the next poll.
import type { Clock } from '../../domain/clock.ts'
import { People, type ApproveOptions, type PairedPerson, type PersonRef } from '../tables/pairing.ts'
import type { Postgres } from './connection.ts'
import type { Members } from './members.ts'
import { onSignalAndPoll } from './signals.ts'
import { postgresSql } from './sql.ts'

const pollMs = 5_000

export class PostgresPeople extends People {
  #members: Members
  #clock: Clock
  #known = new Map<string, PairedPerson>()
  #following: Promise<void> | undefined

  constructor(postgres: Postgres, members: Members, clock: Clock) {
    super(postgresSql(postgres), clock)
    this.#members = members
    this.#clock = clock
  }

  ready(): Promise<void> {
    return (this.#following ??= this.#follow())
  }

  find(person: PersonRef): PairedPerson | undefined {
    return this.#known.get(keyOf(person))
  }

  known(): PairedPerson[] {
    return [...this.#known.values()]
  }

  override async approve(code: string, options: ApproveOptions): Promise<PairedPerson> {
    const person = await super.approve(code, options)
    await this.#changed()
    return person
  }

  override async remove(person: PersonRef): Promise<boolean> {
    const isRemoved = await super.remove(person)
    await this.#changed()
    return isRemoved
  }

  async #follow(): Promise<void> {
    // During an outage the last known list stays, and the connection reports the outage.
    const readAgain = (): Promise<void> => this.#read().catch(() => {})
    onSignalAndPoll(this.#members, 'people', { clock: this.#clock, ms: pollMs }, readAgain)
    await this.#read()
  }

  async #read(): Promise<void> {
    const people = await this.people()
    this.#known = new Map(people.map((person) => [keyOf(person), person]))
  }

  async #changed(): Promise<void> {
    await this.#read()
    this.#members.signal({ kind: 'people' })
  }
}

function keyOf({ channel, accountId, senderId }: PersonRef): string {
  return JSON.stringify([channel, accountId, senderId])
}
