// The notes in an agent's workspace: `MEMORY.md`, and a file for each day in `memory/`. Notes are append-only.
import {
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { closeAtEnd, namesIn, openForeign } from '../disk/foreign-file.ts'

export interface NoteFile {
  /** `MEMORY.md`, `memory/2026-11-15.md`. */
  name: string
  path: string
  bytes: number
  changedAt: number
}

/** The notes in a workspace; the agent's own folder has only those in `memory`. */
export function listNotes(workspace: string): NoteFile[] {
  const names = namesIn(workspace).filter((name) => /^MEMORY\.md$/i.test(name))
  return [...notesAt(workspace, names), ...listMemory(workspace)]
}

/** The notes in `memory` of a workspace or of an agent's own folder. */
export function listMemory(parent: string): NoteFile[] {
  const folder = join(parent, 'memory')
  return isLink(folder) ? [] : listFolder(folder)
}

/** A symbolic link may point at the notes of another agent or person. */
export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

/** All notes in a folder and its subfolders, with names that begin with the folder: `handbook/harbour.md`. */
export function listFolder(folder: string, depth = 3, name = basename(folder)): NoteFile[] {
  const below = namesIn(folder)
  const folders =
    depth === 0
      ? []
      : below.filter((each) => lstatSync(join(folder, each), { throwIfNoEntry: false })?.isDirectory())
  const notes = below.filter((each) => /\.md$/i.test(each))
  return [
    ...notesAt(folder, notes).map((note) => ({ ...note, name: `${name}/${note.name}` })),
    ...folders.flatMap((each) => listFolder(join(folder, each), depth - 1, `${name}/${each}`)),
  ]
}

function notesAt(folder: string, names: string[]): NoteFile[] {
  return names.flatMap((name) => {
    const path = join(folder, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    // Only regular files are listed, no links.
    return stat?.isFile() ? [{ name, path, bytes: stat.size, changedAt: stat.mtimeMs }] : []
  })
}

/** The note with this name, day or file name; undefined if there is none. */
export function readNote(
  notes: NoteFile[],
  wanted: string,
): { name: string; path: string; text: string } | undefined {
  const found = notes.find(({ name }) =>
    [name, basename(name), basename(name).replace(/\.md$/i, '')].includes(wanted),
  )
  if (!found) return undefined
  const fd = openForeign(found.path, { noLink: true })
  using _ = closeAtEnd(fd)
  return { name: found.name, path: found.path, text: readFileSync(fd, 'utf8') }
}

/** Adds a paragraph to the notes of a day in one write, so that concurrent writers lose nothing. */
export function addNote(workspace: string, day: string, text: string): { name: string; path: string } {
  const name = `memory/${day}.md`
  const path = join(workspace, name)
  try {
    const folder = join(workspace, 'memory')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (isLink(folder)) throw new RockpoolError('refused', `${folder} is a link.`)
    const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants
    const fd = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
    using _ = closeAtEnd(fd)
    const isNew = fstatSync(fd).size === 0
    writeSync(fd, isNew ? `# ${day}\n\n${text}\n` : `\n${text}\n`)
    fsyncSync(fd)
  } catch (error) {
    throw new RockpoolError('disk-failed', `${path} cannot be written.`, {
      hint: 'Check free space and permissions; a link in its place is refused.',
      cause: error,
    })
  }
  return { name, path }
}
