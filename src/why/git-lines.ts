// Parses the output of git about lines: which commit wrote each, and which lines a commit added and removed.
import { hashOfLine } from '../discovery/line-hash.ts'
import { plainLine } from '../domain/text.ts'

/** A line of a file now, and the commit that wrote it. */
export interface BlamedLine {
  /** Counted from 1, in the file as it is now. */
  line: number
  text: string
  /** Undefined for a line that is not committed. */
  sha: string | undefined
  /** The file and the line in that commit. */
  file: string
  lineInCommit: number
}

/** Lines of a file, both included. */
export interface LineRange {
  from: number
  to: number
}

export interface CommitInfo {
  sha: string
  subject: string
  author: string
  email: string
  /** Seconds since 1970. A rebase keeps the author's date and changes the committer's. */
  authoredAt: number
  committedAt: number
  /** The first commit of a repository has no parent. */
  isFirst: boolean
}

export interface AddedLine {
  file: string
  /** In the file after the commit. */
  line: number
  /** Lines that were added next to each other have the same number. */
  hunk: number
  text: string
  hash: number | undefined
}

export interface Changes {
  added: AddedLine[]
  /** The removed lines of each hunk that has any. */
  removed: Map<number, string[]>
}

export interface CommitDiff extends CommitInfo, Changes {}

/** Begins every commit in the output of `git show`. */
export const commitFormat = '--format=%x01%H%x00%P%x00%an%x00%ae%x00%at%x00%ct%x00%s%x00'

export function parseBlame(output: string): BlamedLine[] {
  const lines: BlamedLine[] = []
  const files = new Map<string, string>()
  let [sha, lineInCommit, line] = ['', 0, 0]
  for (const text of output.split('\n')) {
    const head = /^([0-9a-f]{40,64}) (\d+) (\d+)/.exec(text)
    if (text.startsWith('\t')) {
      const isCommitted = !/^0+$/.test(sha)
      const file = files.get(sha) ?? ''
      lines.push({ line, text: text.slice(1), sha: isCommitted ? sha : undefined, file, lineInCommit })
    } else if (head) {
      sha = head[1]!
      lineInCommit = Number(head[2])
      line = Number(head[3])
    } else if (text.startsWith('filename ')) files.set(sha, text.slice('filename '.length))
  }
  return lines
}

export function parseDiffs(output: string): CommitDiff[] {
  return output
    .split('\x01')
    .slice(1)
    .map((part) => {
      const [sha, parents, author, email, authoredAt, committedAt, subject, ...patch] = part.split('\0')
      return {
        sha: sha!,
        isFirst: parents === '',
        subject: plainLine(subject ?? '', 400),
        author: plainLine(author ?? '', 200),
        email: plainLine(email ?? '', 200),
        authoredAt: Number(authoredAt),
        committedAt: Number(committedAt),
        ...parseChanges(patch.join('\0')),
      }
    })
}

export function parseChanges(patch: string): Changes {
  const added: AddedLine[] = []
  const removed = new Map<number, string[]>()
  let file = ''
  let [line, hunk, left, leftRemoved] = [0, 0, 0, 0]
  for (const text of patch.split('\n')) {
    if (leftRemoved > 0 && text.startsWith('-')) {
      const known = removed.get(hunk)
      if (known) known.push(text.slice(1))
      else removed.set(hunk, [text.slice(1)])
      leftRemoved--
      continue
    }
    if (left > 0 && text.startsWith('+')) {
      added.push({ file, line: line++, hunk, text: text.slice(1), hash: hashOfLine(text.slice(1)) })
      left--
      continue
    }
    if (text.startsWith('\\')) continue
    const start = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(text)
    if (start) {
      leftRemoved = Number(start[1] ?? 1)
      line = Number(start[2])
      left = Number(start[3] ?? 1)
      hunk++
    } else if (text.startsWith('+++ b/')) file = text.slice('+++ b/'.length).replace(/\t$/, '')
  }
  return { added, removed }
}
