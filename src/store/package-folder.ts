// The folder of the installed package, for files that are shipped beside the program.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Found from this file upwards: the bundle is deeper than the sources. */
export function packageFolder(): string {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return folder
}
