// A purge leaves nothing on any machine: Claude's own record of a session may be a file on several of them, because each that
// took a turn has one. On the purge event each machine removes its own file and its entries in the search index.
import { claudeConfigDir } from '../agent/credentials.ts'
import type { App } from '../operations/app.ts'
import { claudeFilesOf, removeClaudeTranscript } from '../store/transcripts/claude-file.ts'

/** Also what was purged while this machine was away; the result ends it. */
export async function followPurges(app: App): Promise<() => void> {
  const members = app.storage.cluster?.members
  if (!members) return () => {}
  const end = members.on(({ kind }) => {
    if (kind === 'gone') void removeHere(app, '10 minutes')
  })
  await removeHere(app, '90 days')
  return end
}

async function removeHere(app: App, since: string): Promise<void> {
  try {
    const ids = (await app.storage.cluster?.purgedClaudeIds(since)) ?? []
    const found = ids.filter((id) => claudeFilesOf(claudeConfigDir(app.environment), id).length > 0)
    if (found.length === 0) return
    for (const id of found)
      for (const path of claudeFilesOf(claudeConfigDir(app.environment), id))
        await removeClaudeTranscript(path)
    await app.discovery().purge()
    await app.search().purge(found)
  } catch (error) {
    app.log.warn(
      { event: 'purge-local-failed', error: String(error) },
      "Could not remove Claude's transcript of a session that was purged on another machine.",
    )
  }
}
