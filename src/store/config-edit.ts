// Changes the configuration file for a command. A file with comments is never rewritten, because the comments would be lost; the
// command prints the change instead.
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'
import { readConfigText } from './config-file.ts'
import { errorCode } from './disk/atomic-file.ts'
import { FileLock } from './disk/file-lock.ts'
import { writePrivateFile } from './disk/private-file.ts'

export type JsonObject = Record<string, unknown>

/** Applies `edit` to the content of the file. Changes of all processes run one after another. The result is checked when the
 *  configuration is loaded next. */
export async function editConfigFile(file: string, edit: (config: JsonObject) => JsonObject): Promise<void> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  await new FileLock(file).hold('change the configuration', async (held) => {
    const changed = edit(readPlainConfig(file))
    held.confirm()
    writePrivateFile(file, `${JSON.stringify(changed, null, 2)}\n`)
  })
}

/** Applies `change` to the text of the file, under the same lock; `change` checks the result before it returns it. */
export async function editConfigText(file: string, change: (text: string) => Promise<string>): Promise<void> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  await new FileLock(file).hold('change the configuration', async (held) => {
    const changed = await change(readConfigText(file, false))
    held.confirm()
    writePrivateFile(file, changed.endsWith('\n') ? changed : `${changed}\n`)
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
    const message = `${file} has comments, which a command would lose; it was not changed.`
    throw new RockpoolError('refused', message, {
      hint: 'Make the change by hand; docs/config.md has every key.',
      cause: error,
    })
  }
}
