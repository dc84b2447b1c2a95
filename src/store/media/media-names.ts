// A file of the media folder has the same name on every machine: its path below that folder. Rows that several machines
// read hold the path of the machine that wrote them; here it becomes one's own.
import { join } from 'node:path'

/** Files of sessions, those that are about to leave, and those that were fetched for it. */
const shape = /(?:^|\/)(sessions\/[0-9a-f]{32}\/[^/]+\/[^/]+|outgoing\/[^/]+\/[^/]+|inbound\/[^/]+)$/

/** Undefined when the path names no such file. */
export function mediaName(path: string): string | undefined {
  const name = shape.exec(path)?.[1]
  return name?.split('/').every((part) => part !== '.' && part !== '..') ? name : undefined
}

/** Where such a file is on this machine, if it is here at all. */
export function mediaHere(root: string, path: string): string {
  const name = mediaName(path)
  return name === undefined ? path : join(root, name)
}
