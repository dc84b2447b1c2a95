// A command that ends does not wait until a large sessions.json is written: a process of its own writes the file, one at a
// time for each file (src/sessions-json-writer.ts).
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { FileLock } from '../disk/file-lock.ts'

export interface WriterTask {
  database: string
  path: string
  agentId: string | undefined
}

/** Held by the writer until the file is up to date. */
export function writerLock(path: string): FileLock {
  return new FileLock(`${path}.writer`, { timeoutMs: 0 })
}

/** The rows are safe already: if no writer can be started, the next process that opens the store writes the file. */
export function startBackgroundWriter(task: WriterTask): void {
  const program = writerProgram()
  // The writer that runs looks once more after it has let go of its lock, so it sees what was committed before this.
  if (program === undefined || writerLock(task.path).heldFor() !== undefined) return
  const child = spawn(process.execPath, [fileURLToPath(program), JSON.stringify(task)], {
    detached: true,
    stdio: 'ignore',
    env: {},
    cwd: '/',
  })
  child.on('error', () => {})
  child.unref()
}

/** Beside this module's folder in the sources, at the top of what was built. */
function writerProgram(): URL | undefined {
  const name = 'sessions-json-writer'
  const isSource = import.meta.url.endsWith('.ts')
  const candidates = isSource ? [`../../${name}.ts`] : [`./${name}.js`, `../${name}.js`]
  return candidates.map((file) => new URL(file, import.meta.url)).find((url) => existsSync(url))
}
