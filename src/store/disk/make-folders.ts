//
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from './atomic-file.ts'

export function makeFolders(path: string): void {
  if (existsSync(path)) return
  if (dirname(path) !== path) makeFolders(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process created it meanwhile.
    if (errorCode(error) !== 'EEXIST') throw error
  }
}
