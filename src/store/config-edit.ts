// Changes the configuration file on behalf of a command. A file with comments is the person's own work: it is never
// rewritten, the command says instead what to put where.
import { readFileSync } from 'node:fs'
import { RockpoolError } from '../domain/errors.ts'
import { errorCode } from './atomic-file.ts'
import { writePrivateFile } from './private-file.ts'

export type JsonObject = Record<string, unknown>

/** Applies `change` to what the file says and writes it back. The result is checked when it is next loaded. */
export function editConfigFile(file: string, change: (config: JsonObject) => JsonObject): void {
  writePrivateFile(file, `${JSON.stringify(change(readPlainConfig(file)), null, 2)}\n`)
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
