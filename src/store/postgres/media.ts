// Files of messages and replies in the shared database, so that the machine that runs the turn or sends the reply has them. On
// each machine they are files of its media folder; a file that another machine removed is removed here, too.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import { digestOf, writeFileAtomically } from '../disk/atomic-file.ts'
import { attachmentCopies } from '../media/media-files.ts'
import { mediaName } from '../media/media-names.ts'
import type { Postgres } from './connection.ts'
import type { Members } from './members.ts'
import { onSignalAndPoll } from './signals.ts'
import { fromHex } from './sql.ts'

export interface SharedMediaParts {
  postgres: Postgres
  members?: Pick<Members, 'on'>
  root: string
  /** Folders with copies of received files. */
  workspaces: () => string[]
  clock: Clock
  log: Log
}

const pieceBytes = 262_144
const pollMs = 60_000

export class SharedMedia {
  #parts: SharedMediaParts
  #stopFollowing: (() => void) | undefined
  #isClosed = false

  constructor(parts: SharedMediaParts) {
    this.#parts = parts
  }

  /** Stores a file for the other machines. Bytes that are stored under another name are not sent again. */
  async give(path: string): Promise<void> {
    const { postgres, clock } = this.#parts
    const name = mediaName(path)
    if (name === undefined) return
    const { sha256: hash, bytes } = await digestOf(path)
    const values = [name, hash, clock.now()]
    const [named] = await postgres.repeat<{ done: boolean }>('SELECT name_media($1, $2, $3) AS done', values)
    if (named!.done) return
    await postgres.untilBack(() =>
      postgres.transaction(async ({ rows }) => {
        await rows('SELECT lock_media($1)', [hash])
        const sql = 'INSERT INTO media_blob VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING hash'
        const made = await rows(sql, [hash, bytes])
        let n = 0
        if (made.length > 0)
          for await (const data of piecesOf(path))
            await rows('INSERT INTO media_piece VALUES ($1, $2, $3)', [hash, n++, data])
        await rows('INSERT INTO media_file VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', values)
      }),
    )
  }

  /** The path of the file on this machine, fetched if it is missing. A path outside of the media folder is returned as it is. */
  async bring(path: string): Promise<string> {
    const name = mediaName(path)
    if (name === undefined) return path
    const here = join(this.#parts.root, name)
    if (!existsSync(here)) await this.#fetch(name, here)
    return here
  }

  /** Removes files from the database and, by a signal, from all machines. */
  async remove({ folder, paths = [] }: { folder?: string; paths?: readonly string[] }): Promise<void> {
    const { postgres } = this.#parts
    const inFolder = folder === undefined ? [] : await this.names(folder)
    const names = [...inFolder, ...paths.flatMap((path) => mediaName(path) ?? [])]
    if (names.length > 0) await postgres.repeat('SELECT remove_media($1)', [names])
  }

  /** Removes outgoing and incoming files whose rows are forgotten by now. */
  async forget(before: number): Promise<void> {
    const sql =
      "SELECT name FROM media_file WHERE at < $1 AND (name LIKE 'outgoing/%' OR name LIKE 'inbound/%')"
    const rows = await this.#parts.postgres.read<{ name: string }>(sql, [before])
    if (rows.length > 0)
      await this.#parts.postgres.repeat('SELECT remove_media($1)', [rows.map(({ name }) => name)])
  }

  async names(folder = ''): Promise<string[]> {
    const sql = 'SELECT name FROM media_file WHERE starts_with(name, $1) ORDER BY name'
    const rows = await this.#parts.postgres.read<{ name: string }>(sql, [folder === '' ? '' : `${folder}/`])
    return rows.map(({ name }) => name)
  }

  nameOf(path: string): string {
    return mediaName(path) ?? path
  }

  async here(): Promise<string[]> {
    const { root } = this.#parts
    const found = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
    const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    return paths.filter((path) => mediaName(path) !== undefined && !path.endsWith('.part'))
  }

  /** Removes files that were removed on other machines, until `close`. */
  async follow(): Promise<void> {
    if (this.#stopFollowing || this.#isClosed) return
    const { members, clock } = this.#parts
    const task = (): Promise<void> => this.#removeGone('10 minutes')
    this.#stopFollowing = onSignalAndPoll(members, 'gone', { clock, ms: pollMs }, task)
    await this.#removeGone('90 days')
  }

  close(): void {
    this.#isClosed = true
    this.#stopFollowing?.()
  }

  async #removeGone(since: string): Promise<void> {
    const { postgres, root, workspaces, log } = this.#parts
    try {
      const sql = "SELECT name FROM gone WHERE kind = 'media' AND at > now() - $1::interval"
      const rows = await postgres.read<{ name: string }>(sql, [since])
      for (const { name } of rows) {
        if (mediaName(name) !== name) continue
        const copies = workspaces().flatMap((workspace) => attachmentCopies(workspace, name))
        const isReceived = basename(dirname(name)) === 'received'
        for (const path of [join(root, name), ...(isReceived ? copies : [])]) await rm(path, { force: true })
      }
    } catch (error) {
      if (!this.#isClosed)
        log.warn(
          { event: 'media-purge-failed', error: String(error) },
          'Could not remove local copies of files that were removed on another machine; the next start tries again.',
        )
    }
  }

  async #fetch(name: string, path: string): Promise<void> {
    const { postgres } = this.#parts
    const sql = 'SELECT hash, bytes FROM media_file JOIN media_blob USING (hash) WHERE name = $1'
    const [file] = await postgres.read<{ hash: string; bytes: number }>(sql, [name])
    // The reader of the file reports that it is missing.
    if (!file) return
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFileAtomically(path, this.#piecesOf(file))
  }

  /** Throws if the bytes are not those of the hash; the file is not written then. */
  async *#piecesOf({ hash, bytes }: { hash: string; bytes: number }): AsyncGenerator<Buffer> {
    const digest = createHash('sha256')
    for (let n = 0, read = 0; read < bytes; n++) {
      const sql = 'SELECT data FROM media_piece WHERE hash = $1 AND n = $2'
      const [piece] = await this.#parts.postgres.read<{ data: string }>(sql, [hash, n])
      if (!piece) break
      const data = fromHex(piece.data)
      digest.update(data)
      yield data
      read += data.length
    }
    if (digest.digest('hex') !== hash)
      throw new RockpoolError('damaged', 'A file in the shared database is damaged.')
  }
}

/** All pieces but the last have the full size. */
async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  await using handle = await open(path, 'r')
  for (;;) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(pieceBytes), 0, pieceBytes)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}
