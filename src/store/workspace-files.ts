// The few files of an agent's workspace that the program itself reads or writes. Links that lead out of it are refused.
import { appendFile, mkdir, readFile, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'

const mostChars = 20_000

/** A text file at the top of the workspace, or undefined when it is not there. */
export async function readWorkspaceFile(workspace: string, name: string): Promise<string | undefined> {
  try {
    const path = await realpath(join(workspace, name))
    if (!path.startsWith((await realpath(workspace)) + sep)) return undefined
    return (await readFile(path, 'utf8')).slice(0, mostChars)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new RockpoolError('disk-failed', `${join(workspace, name)} cannot be read.`, { cause: error })
  }
}

export async function ensureWorkspace(workspace: string): Promise<void> {
  await mkdir(workspace, { recursive: true, mode: 0o700 })
}

/** Adds to `memory/YYYY-MM-DD.md`; what is there stays. */
export async function appendMemory(workspace: string, day: string, text: string): Promise<void> {
  await mkdir(join(workspace, 'memory'), { recursive: true, mode: 0o700 })
  await appendFile(join(workspace, 'memory', `${day}.md`), text, { mode: 0o600 })
}
