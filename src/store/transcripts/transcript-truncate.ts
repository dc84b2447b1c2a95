// Shortens a transcript to its last entries, which form a valid conversation.
import type { FileHandle } from 'node:fs/promises'
import type { TranscriptEntry, TranscriptHeader } from '../../domain/transcript.ts'
import { entriesAt, pathTo, readTree } from './transcript-tree.ts'

interface Shortened {
  header: TranscriptHeader | undefined
  /** With new parents, preceded by the settings in force. */
  entries: TranscriptEntry[]
  /** How many entries are left out, including those of other branches; 0 if the path is short enough. */
  dropped: number
}

export async function lastEntries(handle: FileHandle, keep: number): Promise<Shortened> {
  const tree = await readTree(handle)
  const { path } = pathTo(tree, tree.leafId)
  const { kept, cut, settings } = cutOff(path, keep)
  const found: TranscriptEntry[] = []
  for await (const entry of entriesAt(handle, kept)) found.push(entry)
  const entries = linked(found, cut, settings)
  return { header: tree.header, entries, dropped: cut === 0 ? 0 : tree.nodes.size - entries.length }
}

export function shortenPath(
  path: TranscriptEntry[],
  keep: number,
): { entries: TranscriptEntry[]; isShorter: boolean } {
  const { kept, cut, settings } = cutOff(path, keep)
  return { entries: linked(kept, cut, settings), isShorter: cut > 0 }
}

/** The end of a path, preceded by the settings in force. */
function cutOff<Node extends { type: string }>(
  path: Node[],
  keep: number,
): { kept: Node[]; cut: number; settings: number } {
  const cut = Math.max(0, path.length - keep)
  const settings = settingsBefore(path, cut)
  return { kept: [...settings, ...path.slice(cut)], cut, settings: settings.length }
}

/** Links each entry to the one before it. The first `settings` entries are settings. */
function linked(kept: TranscriptEntry[], cut: number, settings: number): TranscriptEntry[] {
  const entries: TranscriptEntry[] = []
  for (const entry of kept) {
    // The result of a tool has no meaning without the call.
    const isResult = entry.type === 'message' && entry.message.role === 'toolResult'
    const isOrphan = isResult && cut > 0 && entries.length === settings
    if (!isOrphan) entries.push({ ...entry, parentId: entries.at(-1)?.id ?? null })
  }
  repairCompactions(entries, settings)
  return entries
}

/** A compaction that refers to a removed entry would make readers drop everything that it kept. */
function repairCompactions(entries: TranscriptEntry[], first: number): void {
  const ids = new Set(entries.map((entry) => entry.id))
  for (const entry of entries) {
    if (entry.type === 'compaction' && !ids.has(entry.firstKeptEntryId))
      entry.firstKeptEntryId = entries[first]!.id
  }
}

function settingsBefore<Node extends { type: string }>(path: Node[], cut: number): Node[] {
  return ['model_change', 'thinking_level_change', 'session_info']
    .map((type) => path.findLastIndex((node, index) => index < cut && node.type === type))
    .filter((at) => at >= 0)
    .sort((a, b) => a - b)
    .map((at) => path[at]!)
}
