// Whether two looks at the transcripts saw the same, without loading what is known of them.
import { hash } from 'node:crypto'
import type { Listing } from './list-files.ts'
import { indexFormat } from './native-index.ts'
import type { RegistryRow } from './registry.ts'

export function stampOf({ files }: Listing, rows: ReadonlyMap<string, RegistryRow>): string {
  const seen = files.map(({ path, inode, size, mtimeMs }) => `${path}|${inode}|${size}|${mtimeMs}`)
  const owners = [...rows].map(([id, { agentId, repoPath, chat }]) => `${id}|${agentId}|${repoPath}|${chat}`)
  return hash('sha1', [indexFormat, ...seen, ...owners].join('\n'))
}
