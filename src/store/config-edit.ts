// Changes the configuration file on behalf of a command. A file with comments is the person's own work: it is never
// rewritten, the command says instead what to put where.
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'
import { errorCode } from './disk/atomic-file.ts'
import { FileLock } from './disk/file-lock.ts'
import { writePrivateFile } from './disk/private-file.ts'

export type JsonObject = Record<string, unknown>

/** Applies `change` to what the file says and writes it back, one change after the other over all processes. The result is
 *  checked when it is next loaded. */
export async function editConfigFile(
  file: string,
  change: (config: JsonObject) => JsonObject,
): Promise<void> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  await new FileLock(file).hold('change the configuration', async (held) => {
    const changed = change(readPlainConfig(file))
    held.confirm()
    writePrivateFile(file, `${JSON.stringify(changed, null, 2)}\n`)
  })
}

function readPlainConfig(file: string): JsonObject {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return {}
    throw new RockpoolError('config-invalid', `${file} cannot be read.`, { cause: error })
  }
  try {
    return JSON.parse(text) as JsonObject
  } catch (error) {
    throw new RockpoolError(
      'refused',
      `${file} has comments, which a command would lose; it was not changed.`,
      {
        hint: 'Make the change by hand; docs/config.md has every key.',
        cause: error,
      },
    )
  }
}
