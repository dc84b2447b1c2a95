// The name that Claude Code gives to a project's folder. Not reversible, and two directories may share one: whoever
// looks into such a folder must check the `cwd` in the records (ownsTranscript).
import { realpathSync } from 'node:fs'
import { resolve, sep } from 'node:path'

const longest = 200

/** The folder's name for a directory, as Claude Code computes it from the real path. */
export function repoPathToSlug(repoPath: string): string {
  const path = realPath(repoPath)
  const slug = path.replaceAll(/[^a-zA-Z0-9]/g, '-')
  return slug.length <= longest ? slug : `${slug.slice(0, longest)}-${shortHash(path)}`
}

/** The directory with its links resolved; as it is when it does not exist (any more). */
export function realPath(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync(absolute)
  } catch {
    // A directory that is gone still has sessions, under the name that it had.
    return absolute
  }
}

/** Is this directory the repository or one inside it? By path segments, so that `/a/b` does not own `/a/bc`. */
export function isInside(directory: string, repoPath: string): boolean {
  return directory === repoPath || directory.startsWith(repoPath.endsWith(sep) ? repoPath : repoPath + sep)
}

function shortHash(text: string): string {
  let hash = 0
  // UTF-16 units, as Claude Code counts them, not code points.
  for (let i = 0; i < text.length; i++) hash = ((hash << 5) - hash + text.charCodeAt(i)) | 0 // oxlint-disable-line unicorn/prefer-code-point
  return Math.abs(hash).toString(36)
}
