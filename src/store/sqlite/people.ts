// Who may talk, in SQLite: answered from the table, so that an approval by another process counts at once.
import type { Clock } from '../../domain/clock.ts'
import { People, asPerson, personColumns } from '../tables/pairing.ts'
import type { PairedPerson, PersonRef, PersonRow } from '../tables/pairing.ts'
import type { Database } from './database.ts'
import { sqliteSql } from './sql.ts'

export class SqlitePeople extends People {
  #database: Database

  constructor(database: Database, clock: Clock) {
    super(sqliteSql(database), clock)
    this.#database = database
  }

  async ready(): Promise<void> {
    // SQLite answers at once.
  }

  find({ channel, accountId, senderId }: PersonRef): PairedPerson | undefined {
    const sql = `SELECT ${personColumns} FROM paired_person WHERE channel = ? AND account = ? AND sender = ?`
    const row = this.#database.read((q) => q.get<PersonRow>(sql, channel, accountId, senderId))
    return row && asPerson(row)
  }

  known(): PairedPerson[] {
    const sql = `SELECT ${personColumns} FROM paired_person ORDER BY approved_at`
    return this.#database.read((q) => q.all<PersonRow>(sql)).map(asPerson)
  }
}
