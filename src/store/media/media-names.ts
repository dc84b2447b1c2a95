// Paths in the media folder. A file has the same name on every machine: its path below the media folder. Shared rows contain the
// path on the machine that wrote them, which is translated here.
import { join } from 'node:path'

/** Files of sessions, outgoing files, and received files. */
const shape = /(?:^|\/)(sessions\/[0-9a-f]{32}\/[^/]+\/[^/]+|outgoing\/[^/]+\/[^/]+|inbound\/[^/]+)$/

/** Undefined if the path is not a file of the media folder. */
export function mediaName(path: string): string | undefined {
  const name = shape.exec(path)?.[1]
  return name?.split('/').every((part) => part !== '.' && part !== '..') ? name : undefined
}

/** The path of the file on this machine; the file may be missing. */
export function localMediaPath(root: string, path: string): string {
  const name = mediaName(path)
  return name === undefined ? path : join(root, name)
}
