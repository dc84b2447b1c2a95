// Objects as files of a folder, for example on a network drive or in a folder that another program synchronizes.
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { asFileError, unlessMissing, writeFileAtomically } from '../disk/atomic-file.ts'
import type { ObjectEntry, ObjectStore } from './object-store.ts'

export function folderObjects(folder: string): ObjectStore {
  return {
    async list(prefix) {
      const below = join(folder, dirname(`${prefix}x`))
      const entries =
        (await readdir(below, { recursive: true, withFileTypes: true }).catch(unlessMissing)) ?? []
      const found: ObjectEntry[] = []
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name)
        const name = relative(folder, path)
        if (!entry.isFile() || !name.startsWith(prefix) || name.endsWith('.tmp')) continue
        const about = await stat(path).catch(unlessMissing)
        if (about) found.push({ name, bytes: about.size })
      }
      return found
    },
    async get(name) {
      return readFile(join(folder, name)).catch((error: unknown) => {
        throw asFileError(error, join(folder, name))
      })
    },
    async put(name, bytes) {
      const path = join(folder, name)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await writeFileAtomically(path, only(bytes))
    },
    remove: (name) => rm(join(folder, name), { force: true }),
    close: async () => {},
  }
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
