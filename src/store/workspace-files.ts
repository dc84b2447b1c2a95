// The few files of an agent's workspace that the program itself reads. Links that lead out of it are refused.
import { realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'
import { errorCode } from './disk/atomic-file.ts'
import { readForeign } from './disk/foreign-file.ts'

const mostChars = 20_000

/** A text file at the top of an agent's workspace; undefined if it is missing, or is a link that leads out of the workspace. */
export async function readWorkspaceFile(workspace: string, name: string): Promise<string | undefined> {
  try {
    const path = await realpath(join(workspace, name))
    if (!path.startsWith((await realpath(workspace)) + sep)) return undefined
    return readForeign(path, mostChars * 4)
      .toString('utf8')
      .slice(0, mostChars)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw new RockpoolError('disk-failed', `${join(workspace, name)} cannot be read.`, { cause: error })
  }
}
