// A folder for what the test files of one run share, such as a new database that each of them copies. Vitest calls this once before
// the first file; nothing is in the folder before a file needs it.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function makeSharedFolder(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-shared-'))
  // PostgreSQL runs as another user and reads its part.
  chmodSync(folder, 0o711)
  process.env['ROCKPOOL_TEST_SHARED'] = folder
  return () => rmSync(folder, { recursive: true, force: true })
}
