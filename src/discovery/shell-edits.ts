// Files that a shell command writes with text of its own: here-documents, and patches in them. What a command changes without
// showing it (sed, a formatter) is not known from its text.
import { isAbsolute, join } from 'node:path'

interface ShellEdit {
  /** An absolute path. */
  file: string
  lines: string[]
}

const hereDocument = /<<(-?)\s*(?:'([\w.-]+)'|"([\w.-]+)"|\\?([\w.-]+))/
const target = /(?:\btee\s+(?:-a\s+)?|>>?\s*)(?:'([^']+)'|"([^"$`]+)"|([^\s'"|&;<>$`()]+))/
const changesDirectory = /(?:^|&&|;)\s*cd\s+(?:'([^']+)'|"([^"$`]+)"|([^\s'"|&;<>$`()]+))\s*(?=&&|;|$)/
const appliesPatch = /\b(?:git\s+apply|git\s+am|patch|apply_patch)\b/

/** The files and lines that stand in the command. `cwd`: where it begins to run. */
export function shellEdits(command: string, cwd: string): ShellEdit[] {
  const lines = command.split('\n')
  const edits: ShellEdit[] = []
  let directory = cwd
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    const folder = firstGroup(changesDirectory.exec(line))
    if (folder !== undefined) directory = isAbsolute(folder) ? folder : join(directory, folder)
    const start = hereDocument.exec(line)
    if (!start) continue
    const delimiter = start[2] ?? start[3] ?? start[4]!
    const isEnd = (text: string): boolean => (start[1] === '-' ? text.trim() : text) === delimiter
    const length = lines.slice(at + 1).findIndex(isEnd)
    if (length < 0) break
    const body = lines.slice(at + 1, at + 1 + length)
    // Without quotes around the delimiter the shell replaces variables and commands.
    const shown = start[4] === undefined ? body : body.filter((text) => !/[$`\\]/.test(text))
    edits.push(...editsIn(line, shown, directory))
    // A patch in a file that a later part of the command applies.
    if (!appliesPatch.test(line) && appliesPatch.test(command)) edits.push(...patchedFiles(shown, directory))
    at += length + 1
  }
  return edits
}

function editsIn(line: string, body: string[], directory: string): ShellEdit[] {
  if (appliesPatch.test(line)) return patchedFiles(body, directory)
  const file = firstGroup(target.exec(line.replace(hereDocument, '').replaceAll(/\d>&\d/g, '')))
  return file === undefined || file.startsWith('/dev/')
    ? []
    : [{ file: inside(directory, file), lines: body }]
}

/** The added lines of a unified diff, or of a patch in the form that `apply_patch` takes. */
function patchedFiles(body: string[], directory: string): ShellEdit[] {
  const edits: ShellEdit[] = []
  for (const line of body) {
    const name = /^(?:\+\+\+ (?:b\/)?|\*\*\* (?:Update|Add) File: |\*\*\* Move to: )([^\t]+)/.exec(line)?.[1]
    if (name !== undefined) edits.push({ file: inside(directory, name.trim()), lines: [] })
    else if (line.startsWith('+')) edits.at(-1)?.lines.push(line.slice(1))
  }
  return edits.filter(({ lines }) => lines.length > 0)
}

function inside(directory: string, file: string): string {
  return isAbsolute(file) ? file : join(directory, file)
}

function firstGroup(match: RegExpExecArray | null): string | undefined {
  return match?.slice(1).find((group) => group !== undefined)
}
