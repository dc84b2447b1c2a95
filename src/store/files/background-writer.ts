// Writes a large sessions.json in a process of its own (src/sessions-json-writer.ts), so that a command that ends does not wait
// for it. One writer at a time for each file.
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

/** The rows are in the database: if no writer can be started, the next process that opens the store writes the file. */
export function startBackgroundWriter(task: WriterTask): void {
  const program = writerProgram()
  // A writer that runs needs no second one: it checks for new rows again after it has released its lock.
  if (program === undefined || writerLock(task.path).heldFor() !== undefined) return
  // Loaded here only: it takes some milliseconds, and a command that reads starts no writer.
  const { spawn } = process.getBuiltinModule('node:child_process')
  const child = spawn(process.execPath, [fileURLToPath(program), JSON.stringify(task)], {
    detached: true,
    stdio: 'ignore',
    env: {},
    cwd: '/',
  })
  child.on('error', () => {})
  child.unref()
}

/** In the sources two folders up; in the build at the top of dist/. */
function writerProgram(): URL | undefined {
  const name = 'sessions-json-writer'
  const isSource = import.meta.url.endsWith('.ts')
  const candidates = isSource ? [`../../${name}.ts`] : [`./${name}.js`, `../${name}.js`]
  return candidates.map((file) => new URL(file, import.meta.url)).find((url) => existsSync(url))
}
