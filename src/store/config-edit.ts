// Changes the configuration file for a command. A file in JSON5 is never rewritten as JSON, because its comments would be lost; `config
// set` changes one value in it. A change that would make the file invalid is refused.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { asRockpoolError, attempt, RockpoolError } from '../domain/errors.ts'
import { checkConfigText, parseConfig, readConfigText } from './config-file.ts'
import { FileLock } from './disk/file-lock.ts'
import { writePrivateFile } from './disk/private-file.ts'

export type JsonObject = Record<string, unknown>

/** Applies `edit` to the content of the file. */
export async function editConfigFile(file: string, edit: (config: JsonObject) => JsonObject): Promise<void> {
  await editConfigText(file, async (text) => {
    const changed = JSON.stringify(edit(parsePlain(text, file)), null, 2)
    await checkConfigText(changed, file).catch((error: unknown) => {
      throw notChanged(error)
    })
    return changed
  })
}

/** Applies `change` to the text of the file; `change` checks the result before it returns it. Changes of all processes run one
 *  after another. */
export async function editConfigText(file: string, change: (text: string) => Promise<string>): Promise<void> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  await new FileLock(file).hold('change the configuration', async (held) => {
    const changed = await change(readConfigText(file, false))
    held.confirm()
    writePrivateFile(file, changed.endsWith('\n') ? changed : `${changed}\n`)
  })
}

export function notChanged(failure: unknown): RockpoolError {
  return new RockpoolError('config-invalid', `Not changed. ${asRockpoolError(failure).message}`, {
    hint: 'docs/config.md lists every key with its values.',
    cause: failure,
  })
}

function parsePlain(text: string, file: string): JsonObject {
  const config = parseConfig(text, file)
  if (attempt(() => JSON.parse(text) as unknown) !== undefined) return config
  throw new RockpoolError(
    'refused',
    `${file} is written in JSON5: a command would lose its comments and its format. It was not changed.`,
    { hint: 'Make the change by hand, or with `rockpool config set`; docs/config.md has every key.' },
  )
}
