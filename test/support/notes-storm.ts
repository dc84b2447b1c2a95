// Machines that add to the same note at the same time, each in a workspace of its own, and are killed at random moments: is
// every line that anybody wrote on all of them in the end, once?
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { SharedNotes } from '../../src/store/postgres/note-store.ts'

export interface NotesStorm {
  machines: number
  /** Lines of each. */
  lines: number
  kills: number
}

export interface NotesReport {
  lost: string[]
  twice: string[]
  /** Is the note the same everywhere? */
  isSame: boolean
  kills: number
}

export const stormNote = 'memory/storm.md'

export function openNotes(postgres: Postgres, folder: string, machine: string): SharedNotes {
  return new SharedNotes({
    postgres,
    bases: join(folder, 'bases.sqlite'),
    machine,
    agentIds: () => ['main'],
    placesOf: () => ({ workspace: join(folder, 'workspace'), agentFolder: join(folder, 'agent') }),
    clock: systemClock,
    log: silentLog,
  })
}

export async function notesStorm(url: string, schema: string, storm: NotesStorm): Promise<NotesReport> {
  const root = mkdtempSync(join(tmpdir(), 'rockpool-notes-'))
  const folders = Array.from({ length: storm.machines }, (_, n) => join(root, `m${n}`))
  const postgres = new Postgres({ url, schema, clock: systemClock, log: silentLog, maxConnections: 4 })
  try {
    // The tables are there before anybody needs them.
    await postgres.read('SELECT 1')
    const kills = { left: storm.kills }
    await Promise.all(
      folders.map((folder, n) => runMachine([url, schema, folder, `m${n}`, storm.lines], kills)),
    )
    const all = folders.map((folder, n) => openNotes(postgres, folder, `m${n}`))
    for (const memory of [...all, ...all]) await memory.sync('main')
    for (const memory of all) await memory.close()
    const texts = folders.map((folder) => readFileSync(join(folder, 'workspace', stormNote), 'utf8'))
    return {
      ...countLines(texts[0]!, storm),
      isSame: new Set(texts).size === 1,
      kills: storm.kills - kills.left,
    }
  } finally {
    await postgres.close()
    rmSync(root, { recursive: true, force: true })
  }
}

/** Until it has written all of its lines, however often it is killed. */
async function runMachine(args: Array<string | number>, kills: { left: number }): Promise<void> {
  for (;;) {
    const child = fork(join(import.meta.dirname, 'notes-worker.ts'), args.map(String))
    // Counted in lines, not in time: a fast machine is killed as often as a slow one.
    let linesLeft = 5 + Math.floor(Math.random() * 20)
    child.on('message', () => --linesLeft === 0 && killIfAllowed(child, kills))
    const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
    if (code === 0) return
    if (code !== null) throw new Error(`A machine ended with ${code}.`)
  }
}

function killIfAllowed(child: ChildProcess, kills: { left: number }): void {
  if (kills.left <= 0) return
  kills.left--
  child.kill('SIGKILL')
}

function countLines(text: string, { machines, lines }: NotesStorm): Pick<NotesReport, 'lost' | 'twice'> {
  const found = Map.groupBy(text.split('\n'), (line) => line)
  const wanted = Array.from(
    { length: machines * lines },
    (_, n) => `- m${n % machines}-${Math.floor(n / machines)}.`,
  )
  return {
    lost: wanted.filter((line) => !found.has(line)),
    twice: wanted.filter((line) => (found.get(line)?.length ?? 0) > 1),
  }
}
