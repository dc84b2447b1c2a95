// Finds edits in the index as it is at one moment: one question checks the files once, and asks several times.
import { basename, dirname } from 'node:path'
import type { EditLookup, TranscriptEdits, WantedEdits } from '../domain/discovered-session.ts'
import { hasName, nameHash } from './edit-table.ts'
import type { TranscriptFile } from './list-files.ts'
import type { NativeIndex } from './native-index.ts'
import { isInside, repoPathToSlug } from './repo-paths.ts'

/** The transcripts that are there. */
export interface PresentFiles {
  at: (path: string) => TranscriptFile | undefined
  all: () => Iterable<TranscriptFile>
}

const fewNames = 10
/** Transcripts that are checked to find those that were in use at a time. */
const mostChecked = 64
/** What a command changed is committed within this time. */
const dayMs = 86_400_000

export class IndexedEdits implements EditLookup {
  readonly #index: NativeIndex
  readonly #files: PresentFiles

  constructor(index: NativeIndex, files: PresentFiles) {
    this.#index = index
    this.#files = files
  }

  find({ names, sessionId }: WantedEdits = {}): TranscriptEdits[] {
    const hashes = names && new Set(names.map(nameHash))
    // The database finds a few names faster than we read all rows.
    const isFew = hashes !== undefined && hashes.size > 0 && hashes.size <= fewNames
    const some = isFew ? [...hashes].map((hash) => new Uint8Array(Uint32Array.of(hash).buffer)) : undefined
    const paths = this.#index
      .editedNames(some)
      .filter((row) => sessionId === undefined || row.sessionId === sessionId)
      .filter((row) => hashes === undefined || hasName(row.names, hashes))
      .map(({ path }) => path)
    return this.#index.editsAt(paths).flatMap((edits) => {
      const file = this.#files.at(edits.path)
      return file ? [{ ...edits, agentKind: file.agentKind ?? 'claude' }] : []
    })
  }

  inUse(folders: readonly string[], at: number, most: number): Array<{ path: string; sessionId: string }> {
    // A folder inside of another one has a name that begins with that of the other.
    const slugs = folders.map((folder) => repoPathToSlug(folder).slice(0, 200))
    const above = new Set(folders.flatMap(foldersAbove).map(repoPathToSlug))
    const recent = [...this.#files.all()].filter(
      ({ kind, agentKind, mtimeMs }) =>
        kind === 'session' && agentKind === undefined && mtimeMs >= at - dayMs,
    )
    // Thousands of transcripts are in few folders.
    const projects = [...Map.groupBy(recent, ({ path }) => dirname(path))]
    const filesOf = (isWanted: (project: string) => boolean): TranscriptFile[] =>
      projects.flatMap(([folder, files]) => (isWanted(basename(folder)) ? files : []))
    const isHere = (cwd: string): boolean =>
      folders.some((folder) => isInside(cwd, folder) || isInside(folder, cwd))
    return [
      filesOf((project) => slugs.some((slug) => project.startsWith(slug))),
      filesOf((project) => above.has(project)),
    ].flatMap((files) => this.#nearest(files, at, isHere, most))
  }

  /** The sessions of these transcripts that had begun at that time and worked in a wanted folder. */
  #nearest(
    files: TranscriptFile[],
    at: number,
    isHere: (cwd: string) => boolean,
    most: number,
  ): Array<{ path: string; sessionId: string }> {
    const near = files.sort((a, b) => Math.abs(a.mtimeMs - at) - Math.abs(b.mtimeMs - at))
    const found: Array<{ path: string; sessionId: string }> = []
    for (const file of near.slice(0, mostChecked)) {
      const { cwd = '', firstTimestamp = '' } = this.#index.listFactsOf(file) ?? {}
      if (isHere(cwd) && Date.parse(firstTimestamp) <= at && file.sessionId !== undefined)
        found.push({ path: file.path, sessionId: file.sessionId })
      if (found.length === most) break
    }
    return found
  }
}

/** All folders that a folder is in. */
function foldersAbove(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [] : [above, ...foldersAbove(above)]
}
