// Indexes inputs and results of tools in small steps, the newest files first. Messages are always indexed; tool texts take
// several times as much space, so they are indexed only while the index is small compared with what it indexes.
import type { KnownSource, SearchIndex } from './search-index.ts'
import { addSomeTools } from './index-tiers.ts'

/** How large the index may become. */
export interface IndexLimit {
  /** The part of its sources that it may take. */
  share: number
  /** It may take this much in any case. */
  leastBytes: number
}

/** A short history is indexed as a whole. */
export function indexLimit(share: number): IndexLimit {
  return { share, leastBytes: 32 << 20 }
}

/** The part of the allowed size that is used: FTS5 needs some room when it merges its lists. */
const usedPart = 0.96
/** The substrings of a text that leaves the index, about a third of its space, stay until all substrings are made again. */
const freedPart = 2 / 3

/** True if the index has reached its limit. */
export function isFull(index: SearchIndex, { share, leastBytes }: IndexLimit): boolean {
  const { used, indexed } = index.bytes()
  return used >= usedPart * Math.max(leastBytes, share * indexed)
}

export class ToolTexts {
  readonly #index: SearchIndex
  readonly #redact: (text: string) => string
  readonly #limit: IndexLimit
  #files: KnownSource[] = []
  /** How many bytes of transcripts may still be read for those whose tool texts have left the index. */
  #credit = 0

  constructor(index: SearchIndex, redact: (text: string) => string, limit: IndexLimit) {
    this.#index = index
    this.#redact = redact
    this.#limit = limit
  }

  /** To be called first, and after files were read. */
  reload(): void {
    this.#files = this.#index.withoutTools()
  }

  /** Indexes some texts; false if none is left, or if there is no room for older ones. */
  async addSome(): Promise<boolean> {
    const file = this.#files[0]
    if (!file || !(await this.#makeRoomFor(file))) return false
    const before = file.toolsBytes
    if (!(await addSomeTools(this.#index, file, this.#redact))) this.#files.shift()
    this.#credit = Math.max(0, this.#credit - (file.toolsBytes - before))
    return true
  }

  /** If the index is full, the texts of the oldest file leave it. What was deleted is freed later, so their size is counted, not
   *  the file's. */
  async #makeRoomFor(file: KnownSource): Promise<boolean> {
    if (this.#credit > 0 || !isFull(this.#index, this.#limit)) return true
    const oldest = oldestWithTools(this.#index)
    if (!oldest || oldest.source.path === file.source.path || oldest.mtimeMs >= file.mtimeMs) return false
    await this.#index.removeTools(oldest.source.path)
    this.#credit += freedPart * oldest.toolsBytes
    return true
  }
}

function oldestWithTools(index: SearchIndex): KnownSource | undefined {
  let oldest: KnownSource | undefined
  for (const known of index.known().values())
    if (known.toolsBytes > 0 && !(oldest && oldest.mtimeMs <= known.mtimeMs)) oldest = known
  return oldest
}
