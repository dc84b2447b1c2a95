// A write that is broken on purpose: it renames without a sync, so a power cut can take back what was acknowledged.
// It also does not look whether the file is still the one that was read.
import { rename, writeFile } from 'node:fs/promises'
import { fileIdentity, temporaryName } from '../../src/store/disk/atomic-file.ts'
import type { writeFileAtomically } from '../../src/store/disk/atomic-file.ts'

export const writeUnsynced: typeof writeFileAtomically = async (path, content) => {
  const temporary = temporaryName(path)
  await writeFile(temporary, content, { mode: 0o600 })
  await rename(temporary, path)
  return fileIdentity(path)!
}
