// The notes of an agent as files that several programs write: an agent, a person with an editor, another Rockpool. A note has the
// same name on every machine, and is replaced only if it is unchanged since it was read.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { errorCode, ifThere, temporaryName } from '../disk/atomic-file.ts'
import { beginsWith, isSameNote, type NoteBody } from './merge-notes.ts'
import { isLink, listMemory, listNotes } from './notes.ts'
import { closeAtEnd, openForeign } from '../disk/foreign-file.ts'

export interface NotePlaces {
  workspace: string
  /** The folder of the agent itself, which may also contain `memory`. */
  agentFolder: string
}

interface ReadNote {
  body: Buffer
  changedAt: number
  /** Changes whenever the file is written to. */
  seen: string
}

const deepest = 5

/** Paths by the name that a note has on every machine: `MEMORY.md`, `memory/today.md`, `agent/memory/old.md`. */
export function notesIn({ workspace, agentFolder }: NotePlaces): Map<string, string> {
  const own = listNotes(workspace)
  const more = resolve(workspace) === resolve(agentFolder) ? [] : listMemory(agentFolder)
  return new Map([
    ...own.map(({ name, path }): [string, string] => [name, path]),
    ...more.map(({ name, path }): [string, string] => [`agent/${name}`, path]),
  ])
}

/** The path of a note by its name, which may come from another machine; undefined if the name is not valid. */
export function notePath({ workspace, agentFolder }: NotePlaces, name: string): string | undefined {
  const isAgents = name.startsWith('agent/')
  const parts = (isAgents ? name.slice('agent/'.length) : name).split('/')
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/[\0\\]/.test(part))
  const isInMemory = parts[0] === 'memory' && parts.length > 1 && parts.length <= deepest
  const isTop = !isAgents && parts.length === 1 && /^MEMORY\.md$/i.test(name)
  if (!isPlain || !/\.md$/i.test(name) || !(isInMemory || isTop)) return undefined
  const root = isAgents ? agentFolder : workspace
  return hasLinkBelow(root, parts.slice(0, -1)) ? undefined : join(root, ...parts)
}

function hasLinkBelow(folder: string, parts: string[]): boolean {
  return parts.some((_, n) => isLink(join(folder, ...parts.slice(0, n + 1))))
}

export function readNoteFile(path: string): ReadNote | undefined {
  const fd = openNote(path)
  if (fd === undefined) return undefined
  using _ = closeAtEnd(fd)
  // The time is read before the text, so a write in between is noticed by the next check.
  const about = fstatSync(fd, { bigint: true })
  return { body: readFileSync(fd), changedAt: Number(about.mtimeMs), seen: seenOf(about) }
}

/** The version of the file, without reading it. */
export function noteVersion(path: string): string | undefined {
  const about = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return about && seenOf(about)
}

/** Replaces the content `from` by `to`. False: the note changed meanwhile and was not replaced. */
export function replaceNote(path: string, from: NoteBody, to: NoteBody, changedAt: number): boolean {
  const done =
    to === undefined
      ? removeNote(path, from)
      : from === undefined
        ? createNote(path, to)
        : beginsWith(to, from)
          ? addToNote(path, from, to.subarray(from.length))
          : rewriteNote(path, from, to)
  // The mtime of an existing note must increase: Claude uses it to detect that the note changed.
  if (done && from === undefined && to !== undefined) utimesSync(path, changedAt / 1_000, changedAt / 1_000)
  return done
}

export function createNote(path: string, body: Buffer): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(path, body, { mode: 0o600, flag: 'wx', flush: true })
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Appends in place, so that concurrent writers lose nothing. */
function addToNote(path: string, from: Buffer, added: Buffer): boolean {
  if (!isSameNote(readNoteFile(path)?.body, from)) return false
  const fd = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW)
  using _ = closeAtEnd(fd)
  writeSync(fd, added)
  return true
}

/** Text that was added to the old file at the last moment is restored. */
function rewriteNote(path: string, from: Buffer, to: Buffer): boolean {
  const fd = openNote(path)
  if (fd === undefined) return false
  const draft = temporaryName(path)
  try {
    writeFileSync(draft, to, { mode: 0o600, flag: 'wx', flush: true })
    if (!isSameNote(readNoteFile(path)?.body, from)) return false
    renameSync(draft, path)
    const old = readFileSync(fd)
    if (old.equals(from)) return true
    writeFileSync(draft, old, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(draft, path)
    return false
  } finally {
    closeSync(fd)
    rmSync(draft, { force: true })
  }
}

function removeNote(path: string, from: NoteBody): boolean {
  const aside = temporaryName(path)
  try {
    renameSync(path, aside)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return from === undefined
    throw error
  }
  if (isSameNote(readNoteFile(aside)?.body, from)) {
    rmSync(aside, { force: true })
    return true
  }
  renameSync(aside, path)
  return false
}

function openNote(path: string): number | undefined {
  return ifThere(() => openForeign(path, { noLink: true }))
}

function seenOf({ ino, size, mtimeNs }: { ino: bigint; size: bigint; mtimeNs: bigint }): string {
  return `${ino} ${size} ${mtimeNs}`
}

/** The name for a version of a note that is kept beside it. */
export function keptVersionName(name: string, machine: string, at: number): string {
  const stem = name.replace(/\.md$/i, '')
  const time = new Date(at).toISOString().replaceAll(':', '-')
  return `${stem.includes('/') ? '' : 'memory/'}${stem} (${machine.replaceAll(/[^\w-]+/g, '-')} ${time}).md`
}
