// The Markdown notes of an agent, searched for a text as it stands. What the bridge answers with when no index is there.
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Note {
  file: string
  text: string
}

const maxFiles = 2_000
const maxBytes = 1 << 20

/** Notes in these folders (not below) that hold `query`, upper and lower case alike; the newest first. */
export async function findNotes(folders: string[], query: string, limit = 10): Promise<Note[]> {
  const wanted = query.toLowerCase()
  const files = (await Promise.all(folders.map(markdownIn))).flat().slice(0, maxFiles)
  const found: Note[] = []
  for (const { file } of files.sort((a, b) => b.modified - a.modified)) {
    const text = await readFile(file, 'utf8')
    if (text.toLowerCase().includes(wanted)) found.push({ file, text: around(text, wanted) })
    if (found.length === limit) break
  }
  return found
}

async function markdownIn(folder: string): Promise<Array<{ file: string; modified: number }>> {
  let names: string[]
  try {
    names = await readdir(folder)
  } catch {
    return [] // An agent without notes has no such folder.
  }
  const files = names.filter((name) => /\.md$/i.test(name)).map((name) => join(folder, name))
  // A link may lead to somebody else's notes: only real files count.
  const stats = await Promise.all(files.map(async (file) => ({ file, about: await lstat(file) })))
  return stats
    .filter(({ about }) => about.isFile() && about.size <= maxBytes)
    .map(({ file, about }) => ({ file, modified: about.mtimeMs }))
}

/** A long note is shown from a little before the place where it matches. */
function around(text: string, wanted: string): string {
  const at = text.toLowerCase().indexOf(wanted)
  return text.length <= 3_000 ? text : text.slice(Math.max(0, at - 500), at + 2_500).toWellFormed()
}
