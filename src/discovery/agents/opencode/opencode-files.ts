// Where opencode keeps its sessions: rows of `opencode.db`, older ones as JSON files below `storage`. The database is only read, and
// a session has the path `<database>#<session id>`.
import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isRecord, parseRecord } from '../../../domain/json.ts'
import { isFile, readForeign } from '../../../store/disk/foreign-file.ts'
import {
  boundedColumn,
  longestValueBytes,
  readForeignDatabase,
  type ForeignRows,
} from '../../../store/sqlite/foreign-database.ts'
import { entriesOf, noteUnreadable, type Listing } from '../../list-files.ts'
import { newFacts, redacted } from '../../transcript-facts.ts'
import { EditTable } from '../../edit-table.ts'
import { UsageTable } from '../../usage-table.ts'
import { agentHomes, filesBelow } from '../agent-files.ts'
import { countField, textField, type OtherReader } from '../contract.ts'
import { RecordFacts } from '../record-facts.ts'
import { openByProcess } from '../running-programs.ts'
import { opencodeRecords, type OpencodeSession } from './opencode-records.ts'

type Fields = Record<string, unknown>

const database = /^opencode(?:-[\w.]+)?\.db$/
const jsonFile = /^[\w-]+\.json$/
const tables = ['session', 'message', 'part']

export const opencodeReader: OtherReader = {
  kind: 'opencode',
  program: 'opencode',
  homes: (environment) => [
    ...new Set([
      ...agentHomes(environment, ['OPENCODE_DB'], []),
      ...agentHomes(environment, ['XDG_DATA_HOME'], ['.local/share/opencode'], 'opencode'),
    ]),
  ],
  list(home, listing) {
    if (home.endsWith('.db')) return listDatabase(home, listing)
    const names = entriesOf(home, listing).filter((entry) => entry.isFile() && database.test(entry.name))
    for (const { name } of names) listDatabase(join(home, name), listing)
    listFiles(home, listing)
  },
  scan({ path }) {
    const session = readSession(path, 'facts')
    const scanned = { facts: newFacts(), usage: new UsageTable(), edits: new EditTable() }
    const { facts } = scanned
    const counts = new RecordFacts(scanned)
    for (const record of opencodeRecords(session)) counts.take(record)
    facts.lineCount = session.messages.length + session.damaged
    facts.damagedLines = session.damaged
    facts.offset = session.bytes
    return { ...scanned, tornTail: false, mark: '' }
  },
  read({ path }) {
    const session = readSession(path, 'everything')
    return { records: opencodeRecords(session), damaged: session.damaged }
  },
  files: ({ path }) => (path.includes('#') ? [path] : storedFiles(path)),
  live: (_homes, world) => openByProcess('opencode', world),
  watched: (home) => [{ path: home.endsWith('.db') ? dirname(home) : home, oneFileEach: false }],
  resumeCommand: (sessionId) => ['opencode', '-s', sessionId],
}

/** The time of a session's last message, because a message may still change after the session's own time. The messages are read once for
 *  all sessions: a database without an index would take hours otherwise. */
const listSql = `SELECT id, ${boundedColumn('title')} AS title, time_updated AS updated, time_archived AS archived, changed, count
  FROM session LEFT JOIN
    (SELECT session_id, max(time_updated) AS changed, count(*) AS count FROM message GROUP BY session_id) ON session_id = id
  WHERE octet_length(id) < 1000`

function listDatabase(path: string, listing: Listing): void {
  try {
    const inode = statSync(path).ino
    for (const row of readForeignDatabase(path, { tables, read: (rows) => [...rows(listSql)] })) {
      const id = String(row['id'])
      const title = textField(row['title'])
      const mtimeMs = Math.max(countField(row['updated']), countField(row['changed']))
      listing.side.set(id, {
        archived: countField(row['archived']) > 0,
        customTitle: title === undefined ? undefined : redacted(title.slice(0, 400)),
      })
      listing.files.push({
        path: `${path}#${id}`,
        paths: [path, `${path}-wal`],
        agentKind: 'opencode',
        configDir: dirname(path),
        sessionId: undefined,
        kind: 'session',
        inode,
        size: countField(row['count']),
        mtimeMs,
      })
    }
  } catch (error) {
    noteUnreadable(path, error, listing)
  }
}

/** Sessions of versions before the database; one that is in the database, too, was taken over. */
function listFiles(home: string, listing: Listing): void {
  const storage = join(home, 'storage')
  const taken = new Set(listing.files.map(({ path }) => path.slice(path.indexOf('#') + 1)))
  for (const path of filesBelow(join(storage, 'session'), jsonFile, 1, listing)) {
    const id = basename(path, '.json')
    if (taken.has(id)) continue
    const messages = statSync(join(storage, 'message', id), { throwIfNoEntry: false })
    const own = statSync(path, { throwIfNoEntry: false })
    if (!own) continue
    listing.files.push({
      path,
      agentKind: 'opencode',
      configDir: home,
      sessionId: undefined,
      kind: 'session',
      inode: own.ino,
      size: own.size,
      mtimeMs: Math.max(own.mtimeMs, messages?.mtimeMs ?? 0),
    })
  }
}

type Wanted = 'facts' | 'everything'

function readSession(path: string, wanted: Wanted): OpencodeSession {
  const at = path.lastIndexOf('#')
  if (at < 0) return readFiles(path)
  const read = (rows: ForeignRows): OpencodeSession => readRows(rows, path.slice(at + 1), wanted)
  return readForeignDatabase(path.slice(0, at), { tables, read })
}

const dataSql = boundedColumn('data')
const editsSql = ['write', 'edit', 'multiedit']
  .map((tool) => `${dataSql} LIKE '{"type":"tool","tool":"${tool}"%'`)
  .join(' OR ')
// Of the tool calls, which are most of the bytes, the facts need only the edits.
const partsSql: Readonly<Record<Wanted, string>> = {
  everything: `SELECT message_id, ${dataSql} AS data FROM part WHERE session_id = ? ORDER BY id`,
  facts: `SELECT message_id, ${dataSql} AS data FROM part WHERE session_id = ?
    AND (octet_length(data) > ${longestValueBytes} OR ${dataSql} NOT LIKE '{"type":"tool"%' OR ${editsSql}) ORDER BY id`,
}
const messagesSql = `SELECT id, ${dataSql} AS data FROM message WHERE session_id = ? ORDER BY id`
const sessionColumns = 'parent_id directory title version time_created time_updated revert'.split(' ')

function readRows(rows: ForeignRows, id: string, wanted: Wanted): OpencodeSession {
  const row = sessionRow(rows, id)
  const parts = new RowParser()
  const byMessage = new Map<string, Fields[]>()
  for (const { message_id: message, data } of rows(partsSql[wanted], id)) {
    const part = parts.parse(data)
    const own = byMessage.get(String(message))
    if (part && own) own.push(part)
    else if (part) byMessage.set(String(message), [part])
  }
  const messages = [...rows(messagesSql, id)].flatMap(({ id: message, data }) => {
    const parsed = parts.parse(data)
    const own = byMessage.get(String(message)) ?? []
    return parsed ? [{ id: String(message), data: parsed, parts: own }] : []
  })
  const revert = parseRecord(String(row?.['revert']))
  return {
    id,
    parentId: textField(row?.['parent_id']),
    directory: textField(row?.['directory']),
    title: textField(row?.['title']),
    version: textField(row?.['version']),
    createdMs: countField(row?.['time_created']),
    updatedMs: countField(row?.['time_updated']),
    revertedFrom: textField(revert?.['messageID']),
    messages,
    damaged: parts.damaged,
    bytes: parts.bytes,
  }
}

/** Older versions lack some of the columns. */
function sessionRow(rows: ForeignRows, id: string): Record<string, unknown> | undefined {
  const known = new Set([...rows("SELECT name FROM pragma_table_info('session')")].map(({ name }) => name))
  const columns = sessionColumns.filter((name) => known.has(name))
  const wanted = columns.map((name) => `${boundedColumn(name)} AS ${name}`)
  return [...rows(`SELECT ${['id', ...wanted].join(', ')} FROM session WHERE id = ?`, id)][0]
}

/** Parses rows and files, and counts what cannot be parsed. */
class RowParser {
  damaged = 0
  bytes = 0

  parse(data: unknown): Fields | undefined {
    const text = String(data)
    this.bytes += text.length
    const parsed = parseRecord(text)
    if (!parsed) this.damaged++
    return parsed
  }

  file(path: string): Fields | undefined {
    try {
      return this.parse(readForeign(path, longestValueBytes).toString('utf8'))
    } catch {
      this.damaged++
      return undefined
    }
  }
}

function readFiles(path: string): OpencodeSession {
  const parser = new RowParser()
  const info = parser.file(path) ?? {}
  // The name of the file, as in the list: an id in it may lead to another folder.
  const id = basename(path, '.json')
  const storage = dirname(dirname(dirname(path)))
  const time = isRecord(info['time']) ? info['time'] : {}
  const ignored: Listing = { files: [], side: new Map(), unreadable: [] }
  const inFolder = (folder: string): string[] => filesBelow(folder, jsonFile, 0, ignored).sort()
  const messages = inFolder(join(storage, 'message', id)).flatMap((file) => {
    const data = parser.file(file)
    const message = basename(file, '.json')
    const partFiles = inFolder(join(storage, 'part', message))
    const parts = partFiles.map((part) => parser.file(part)).filter((part) => part !== undefined)
    return data ? [{ id: message, data, parts }] : []
  })
  return {
    id,
    parentId: textField(info['parentID']),
    directory: textField(info['directory']),
    title: textField(info['title']),
    version: textField(info['version']),
    createdMs: countField(time['created']),
    updatedMs: countField(time['updated']),
    messages,
    damaged: parser.damaged + ignored.unreadable.length,
    bytes: parser.bytes,
  }
}

/** The session, its messages, their parts, its diff and its project. */
function storedFiles(path: string): string[] {
  const id = basename(path, '.json')
  const storage = dirname(dirname(dirname(path)))
  const ignored: Listing = { files: [], side: new Map(), unreadable: [] }
  const inFolder = (folder: string): string[] => filesBelow(folder, jsonFile, 0, ignored)
  const messages = inFolder(join(storage, 'message', id))
  const parts = messages.flatMap((file) => inFolder(join(storage, 'part', basename(file, '.json'))))
  const beside = [
    join(storage, 'session_diff', `${id}.json`),
    join(storage, 'project', `${basename(dirname(path))}.json`),
  ]
  return [path, ...messages, ...parts, ...beside.filter(isFile)]
}
