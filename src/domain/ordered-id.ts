// Ids that follow each other in time (UUID version 7): rows that are written together lie together in an index, so that a
// commit writes a few pages and not one for each row.
import { randomUUID } from 'node:crypto'

export function orderedId(now: number): string {
  const time = Math.floor(now).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
