// The documents of a repository for people and for Claude. Only files inside the repository, never through a link, and only
// with the name of a document.
import { constants } from 'node:fs'
import { lstat, open, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'

interface ProjectDoc {
  /** From the top of the repository, with slashes. */
  path: string
  bytes: number
  /** Milliseconds since 1970. */
  changedAt: number
}

interface ReadDoc extends ProjectDoc {
  text: string
  /** The file is longer than the text. */
  isCut: boolean
}

const maxDocs = 200
const maxBytes = 256 * 1024
/** The folders with documents, and how many levels below them are searched. */
const places = [
  { folder: '', depth: 0 },
  { folder: '.claude', depth: 0 },
  { folder: '.github', depth: 0 },
  { folder: '.specs', depth: 2 },
  { folder: 'doc', depth: 3 },
  { folder: 'docs', depth: 3 },
]
const documentName =
  /^(?:.+\.(?:md|mdx|markdown|txt|rst|adoc)|readme|todo|changelog|license|notice|authors)$/i

export async function listDocs(repo: string): Promise<ProjectDoc[]> {
  const root = await rootOf(repo)
  const found: ProjectDoc[] = []
  for (const { folder, depth } of places) await gather(root, folder, depth, found)
  return found
}

async function gather(root: string, folder: string, depth: number, found: ProjectDoc[]): Promise<void> {
  const isLink = folder !== '' && (await isLinkOrMissing(join(root, folder)))
  const entries = isLink ? [] : await readdir(join(root, folder), { withFileTypes: true }).catch(() => []) // it does not exist
  for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
    if (found.length >= maxDocs) return
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory() && depth > 0 && !entry.name.startsWith('.'))
      await gather(root, path, depth - 1, found)
    if (!entry.isFile() || !documentName.test(entry.name)) continue
    const state = await lstat(join(root, path)).catch(() => undefined) // removed meanwhile
    if (state?.isFile()) found.push({ path, bytes: state.size, changedAt: Math.trunc(state.mtimeMs) })
  }
}

async function isLinkOrMissing(path: string): Promise<boolean> {
  const state = await lstat(path).catch(() => undefined)
  return state === undefined || state.isSymbolicLink()
}

export async function readDoc(repo: string, path: string): Promise<ReadDoc> {
  const root = await rootOf(repo)
  const parts = path.split('/')
  const isInside = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'))
  if (!isInside || !documentName.test(parts.at(-1)!)) throw noDoc(repo, path)
  // A link at the end is refused by the system; one on the way shows in the real path.
  const file = await open(
    join(root, path),
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  ).catch((cause: unknown) => {
    throw noDoc(repo, path, cause)
  })
  try {
    const state = await file.stat()
    if (!state.isFile() || (await realpath(join(root, path))) !== join(root, path)) throw noDoc(repo, path)
    const { bytesRead, buffer } = await file.read(
      Buffer.alloc(Math.min(state.size, maxBytes)),
      0,
      undefined,
      0,
    )
    // A character that the limit cuts in two is left out.
    const text = new TextDecoder().decode(buffer.subarray(0, bytesRead), { stream: true })
    const about = { path, bytes: state.size, changedAt: Math.trunc(state.mtimeMs) }
    return { ...about, text, isCut: state.size > maxBytes }
  } finally {
    await file.close()
  }
}

async function rootOf(repo: string): Promise<string> {
  try {
    return await realpath(repo)
  } catch (cause) {
    throw new RockpoolError('not-found', `There is no folder ${JSON.stringify(repo)}.`, { cause })
  }
}

function noDoc(repo: string, path: string, cause?: unknown): RockpoolError {
  return new RockpoolError('not-found', `There is no document ${JSON.stringify(path)} in ${repo}.`, {
    hint: 'Links are not followed. `rockpool project docs` lists what there is.',
    cause,
  })
}
