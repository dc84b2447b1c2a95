// The notes and the media of agents, between this machine and the shared database. Notes are merged, so both sides have all
// of them afterwards; of media each side gets what it lacks.
import type { Postgres } from '../../store/postgres/connection.ts'
import type { App } from '../app.ts'
import { openSharedMedia, openSharedNotes } from '../../store/postgres/open.ts'

export interface CopiedFiles {
  /** How many notes both sides have now. */
  notes: number
  /** How many files were copied. */
  media: number
  problems: string[]
}

export async function filesToPostgres(app: App, postgres: Postgres): Promise<CopiedFiles> {
  const media = openSharedMedia({ postgres }, app)
  const known = new Set(await media.names())
  const lacking = (await media.here()).filter((path) => !known.has(media.nameOf(path)))
  await eachToldOf(app, lacking, (path) => media.give(path))
  return { ...(await shareNotes(app, postgres, app.agentIds())), media: lacking.length }
}

export async function filesFromPostgres(app: App, postgres: Postgres): Promise<CopiedFiles> {
  const media = openSharedMedia({ postgres }, app)
  const here = new Set((await media.here()).map((path) => media.nameOf(path)))
  const lacking = (await media.names()).filter((name) => !here.has(name))
  await eachToldOf(app, lacking, (name) => media.bring(name))
  const agents = await postgres.read<{ agent: string }>('SELECT DISTINCT agent FROM memory_file')
  const all = new Set([...app.agentIds(), ...agents.map(({ agent }) => agent)])
  return { ...(await shareNotes(app, postgres, [...all])), media: lacking.length }
}

async function shareNotes(
  app: App,
  postgres: Postgres,
  agentIds: string[],
): Promise<Omit<CopiedFiles, 'media'>> {
  const memory = openSharedNotes({ postgres }, app)
  try {
    for (const agentId of agentIds) await memory.sync(agentId)
    const [row] = await postgres.read<{ n: number }>(
      'SELECT count(*) AS n FROM memory_file WHERE body IS NOT NULL AND agent = ANY ($1)',
      [agentIds],
    )
    return { notes: row!.n, problems: memory.problems() }
  } finally {
    await memory.close()
  }
}

async function eachToldOf(
  app: App,
  files: string[],
  copy: (file: string) => Promise<unknown>,
): Promise<void> {
  for (const [n, file] of files.entries()) {
    await copy(file)
    if (n % 100 === 99) app.log.info({ event: 'copy-progress', media: n + 1, of: files.length }, 'Copying.')
  }
}
