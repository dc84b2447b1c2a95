// Work without order that must be done once in a while: clean-up, heartbeats. With one process a timer does it; with
// several on one database a queue gives each occasion to one of them (store/postgres/chores.ts).

export interface Chores {
  /** Does `work` about every so often, once over all who share it, until everything is stopped. */
  every(name: string, ms: number, work: () => Promise<void>): void
  /** Lets what runs come to its end. */
  stop(): Promise<void>
}
