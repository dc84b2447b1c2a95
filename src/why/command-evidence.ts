// Lines that a command changed without showing them (sed, a formatter, a generator). The transcript proves it if the session saw the
// line in the file after the command, and had seen the file without it before, or named the file in the command.
import { fstatSync, readSync } from 'node:fs'
import { basename, relative } from 'node:path'
import { blocksIn, textIn } from '../discovery/cards.ts'
import { isInside } from '../discovery/repo-paths.ts'
import { isRecord, parseRecord } from '../domain/json.ts'
import { closeAtEnd, openForeign } from '../store/disk/foreign-file.ts'
import { linesOfFile } from '../store/disk/file-lines.ts'
import { lettersOf } from './votes.ts'

type Fields = Record<string, unknown>

interface Sighting {
  /** Where the record of the command's result begins. */
  offset: number
  seconds: number
}

const mostBytes = 64 << 20
/** Commands that change no source file: they show something, or compile and test. */
const readOnly = [
  /^\s*(?:cat|ls|head|tail|less|grep|rg|find|pwd|cd|echo|wc|which|sed\s+-n)\b/,
  /^\s*git\s+(?:-\S+\s+)*(?:diff|log|show|status|blame|add|commit|push|branch)\b/,
  /^\s*(?:npm|pnpm|yarn)\s+(?:run\s+(?:-\S+\s+)*)?(?:test|typecheck|build)\b/,
  /^\s*(?:npx\s+)?(?:vitest|jest|tsc|pytest|mypy)\b/,
  /^\s*(?:cargo|go|make)\s+(?:test|check|vet|build)\b/,
]

interface WantedLine {
  /** The path in the repository. */
  file: string
  text: string
  /** Seconds since 1970. */
  before: number
  /** The working trees of the repository. */
  trees: readonly string[]
}

/** The command of this transcript that wrote the line into the file; undefined if nothing proves one. */
export function commandThatWrote(
  path: string,
  { file, text, before, trees }: WantedLine,
): Sighting | undefined {
  const fd = openForeign(path)
  using _ = closeAtEnd(fd)
  if (!hasText(fd, text)) return undefined
  const reader = new CommandReader(file, text, trees)
  for (const { offset, bytes } of linesOfFile(fd, 0)) {
    if (offset > mostBytes) return undefined
    if (!reader.mayMatter(bytes)) continue
    const record = parseRecord(bytes.toString('utf8'))
    const seconds = Math.floor((Date.parse(String(record?.['timestamp'])) || 0) / 1_000)
    if (!record || seconds > before) continue
    const verdict = reader.take(record, { offset, seconds })
    if (verdict !== undefined) return verdict === 'elsewhere' ? undefined : verdict
  }
  return undefined
}

/** Most transcripts do not have the line; one search shows that. */
function hasText(fd: number, text: string): boolean {
  const size = Math.min(fstatSync(fd).size, mostBytes)
  const bytes = Buffer.allocUnsafe(size)
  return bytes.subarray(0, readSync(fd, bytes, 0, size, 0)).includes(escaped(text))
}

/** As it stands in JSON. */
function escaped(text: string): string {
  return JSON.stringify(text.trim()).slice(1, -1)
}

class CommandReader {
  readonly #file: string
  readonly #text: string
  readonly #trees: readonly string[]
  readonly #needles: Buffer[]
  /** Commands whose result has not been read. */
  readonly #running = new Map<string, { text: string; isReadOnly: boolean }>()
  #last: (Sighting & { isNamed: boolean }) | undefined
  #isSeenWithout = false
  /** Where the session is. */
  #cwd = ''

  constructor(file: string, text: string, trees: readonly string[]) {
    this.#file = file
    this.#trees = trees
    this.#text = text.trim()
    this.#needles = [escaped(text), '"Bash"', '"stdout"', basename(file)].map((one) => Buffer.from(one))
  }

  mayMatter(bytes: Buffer): boolean {
    return this.#needles.some((needle) => bytes.includes(needle))
  }

  /** `elsewhere`: the line was in the file before any command. */
  take(record: Fields, at: Sighting): Sighting | 'elsewhere' | undefined {
    const message = isRecord(record['message']) ? record['message'] : {}
    this.#cwd = textIn(record['cwd']) ?? ''
    for (const block of blocksIn(message['content'])) {
      if (block['type'] === 'tool_use') this.#noteCommand(block)
      if (block['type'] !== 'tool_result') continue
      const found = this.#result(textIn(block['tool_use_id']) ?? '', record['toolUseResult'], at)
      if (found !== undefined) return found
    }
    return undefined
  }

  #noteCommand({ id, name, input }: Fields): void {
    const text = isRecord(input) ? textIn(input['command']) : undefined
    if (name !== 'Bash' || text === undefined || this.#isAboutOther(text)) return
    const isReadOnly = withoutHereDocuments(text)
      .split(/&&|\|\||[;|\n]/)
      .every((part) => part.trim() === '' || readOnly.some((one) => one.test(part)))
    this.#running.set(String(id), { text, isReadOnly })
  }

  /** A session above the repository may work in others, too: only what names this one is about it. */
  #isAboutOther(text: string): boolean {
    if (this.#cwd === '' || this.#trees.some((tree) => isInside(this.#cwd, tree))) return false
    const below = this.#trees.filter((tree) => isInside(tree, this.#cwd))
    return below.length > 0 && !below.some((tree) => text.includes(relative(this.#cwd, tree)))
  }

  #result(id: string, result: unknown, at: Sighting): Sighting | 'elsewhere' | undefined {
    const command = this.#running.get(id)
    this.#running.delete(id)
    if (command && !command.isReadOnly)
      this.#last = { ...at, isNamed: command.text.includes(basename(this.#file)) }
    const shown = isRecord(result) ? this.#contentShown(result, command?.text) : undefined
    if (shown === undefined) return undefined
    if (!this.#isIn(shown)) {
      // The words were there in another form, which the command changed.
      if (lettersOf(shown).includes(lettersOf(this.#text))) return 'elsewhere'
      // The line came after this look, so no earlier command wrote it.
      this.#isSeenWithout = true
      this.#last = undefined
      return undefined
    }
    const last = this.#last
    return last && (this.#isSeenWithout || last.isNamed)
      ? { offset: last.offset, seconds: last.seconds }
      : 'elsewhere'
  }

  /** A look at a part of the file proves nothing about lines that it does not show. */
  #wholeOrWithLine({ content, numLines, totalLines }: Fields): string | undefined {
    const text = textIn(content) ?? ''
    return numLines === totalLines || this.#isIn(text) ? text : undefined
  }

  #isIn(text: string): boolean {
    return text.split('\n').some((line) => line.replace(/^\+/, '').trim() === this.#text)
  }

  /** The content of the file, or a difference of it, that a result shows. */
  #contentShown(result: Fields, command: string | undefined): string | undefined {
    const isIt = (path: unknown): boolean =>
      typeof path === 'string' && path.endsWith(`/${this.#file}`) && !this.#isAboutOther(path)
    const { file, stdout } = result
    if (isRecord(file) && isIt(file['filePath'])) return this.#wholeOrWithLine(file)
    if (isIt(result['filePath'])) return textIn(result['originalFile'])
    const output = textIn(stdout) ?? ''
    const isAbout =
      command !== undefined && (output.includes(this.#file) || command.includes(basename(this.#file)))
    // Other output than of a difference may leave out the line.
    return isAbout && this.#isIn(output) ? output : undefined
  }
}

/** What a here-document writes into a file stands in the command: no other line comes from it. */
function withoutHereDocuments(command: string): string {
  return command.replaceAll(/<<-?\s*(["']?)([\w.-]+)\1(.*)\n[\s\S]*?^\s*\2$/gm, '$3')
}

/** The lines of a file that a session had on its screen before this place in its transcript. */
export function linesSeen(path: string, file: string, before: number): Set<string> {
  const fd = openForeign(path)
  using _ = closeAtEnd(fd)
  const name = Buffer.from(basename(file))
  const commands = new Set<string>()
  const seen = new Set<string>()
  for (const { offset, bytes } of linesOfFile(fd, 0)) {
    if (offset >= Math.min(before, mostBytes)) break
    const isCommandResult = bytes.includes('"stdout"')
    const record = isCommandResult || bytes.includes(name) ? parseRecord(bytes.toString('utf8')) : undefined
    const message = isRecord(record?.['message']) ? record['message'] : {}
    for (const block of blocksIn(message['content'])) {
      const command = isRecord(block['input']) ? (textIn(block['input']['command']) ?? '') : ''
      if (withoutHereDocuments(command).includes(basename(file))) commands.add(String(block['id']))
      const isAbout = commands.has(String(block['tool_use_id']))
      const shown = isRecord(record?.['toolUseResult'])
        ? textShown(record['toolUseResult'], file, isAbout)
        : ''
      for (const line of shown.split('\n')) seen.add(line.replace(/^\s*\d+[\t→]/, '').trim())
    }
  }
  return seen
}

function textShown(
  { file, filePath, originalFile, stdout }: Fields,
  wanted: string,
  isAbout: boolean,
): string {
  const isIt = (path: unknown): boolean => typeof path === 'string' && path.endsWith(`/${wanted}`)
  if (isRecord(file) && isIt(file['filePath'])) return textIn(file['content']) ?? ''
  if (isIt(filePath)) return textIn(originalFile) ?? ''
  return isAbout ? (textIn(stdout) ?? '') : ''
}
