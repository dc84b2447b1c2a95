// The usage windows of the Claude subscription: the latest reports of each, for the forecast. Machines that share a database share
// the windows.
import { afterReport, type UsageReport, type UsageWindow } from '../../domain/usage-window.ts'
import { getRecord, readRecords } from './record-tables.ts'
import { RecordStore } from './records.ts'

export class UsageStore extends RecordStore {
  async report(report: UsageReport): Promise<void> {
    // Most reports repeat what is known: they cost no write.
    const known = this.db.read((q) => getRecord(q, 'usage', report.id))
    if (known && !afterReport(known, report)) return
    await this.records.update('usage', report.id, (window) => afterReport(window, report))
  }

  /** The windows that have not reset yet. */
  current(now: number): UsageWindow[] {
    const all = this.db.read((q) => readRecords(q, 'usage', 'ORDER BY id'))
    return all.filter(({ resetsAt }) => resetsAt > now)
  }
}
