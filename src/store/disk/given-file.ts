// Files that a person names on the command line, to be read as they are.
import { readFileSync, statSync } from 'node:fs'
import { RockpoolError } from '../../domain/errors.ts'

export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    // Not there, or no name that a file can have.
    return false
  }
}

export function fileSize(path: string): number {
  return statSync(path).size
}

export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new RockpoolError('not-found', `${path} cannot be read.`, { cause: error })
  }
}
