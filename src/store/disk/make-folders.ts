// Makes a folder and those above it. Node's own way to do so never ends where the system says "no such file" although
// the parent is there, as /proc does.
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from './atomic-file.ts'

export function makeFolders(path: string): void {
  if (existsSync(path)) return
  if (dirname(path) !== path) makeFolders(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Made meanwhile by somebody else.
    if (errorCode(error) !== 'EEXIST') throw error
  }
}
