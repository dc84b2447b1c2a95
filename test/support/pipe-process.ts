// Reads, in a process of its own, every place where others write, after a pipe was put there: a read that waits for a writer
// freezes this process, and the test that started it sees how far it came.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { readSkills } from '../../src/agent/skills.ts'
import { otherWriter } from '../../src/agent/other-writers.ts'
import { anatomyOf } from '../../src/discovery/anatomy.ts'
import { cardsOf } from '../../src/discovery/cards.ts'
import { conversationRecords } from '../../src/discovery/conversation-records.ts'
import { listTranscripts } from '../../src/discovery/list-files.ts'
import { readLiveSessions } from '../../src/discovery/registries.ts'
import { readDoc } from '../../src/discovery/project-docs.ts'
import { TranscriptScanner } from '../../src/discovery/transcript-scanner.ts'
import { worktreesOf } from '../../src/discovery/repo-paths.ts'
import { silentLog } from '../../src/domain/log.ts'
import { sessionFileEntry } from '../../src/library/session-files.ts'
import { openSource } from '../../src/search/index-files.ts'
import { readPassage } from '../../src/search/passages.ts'
import { readFileSafely } from '../../src/store/disk/atomic-file.ts'
import { FileLock } from '../../src/store/disk/file-lock.ts'
import { recoverSessions } from '../../src/store/files/recover-sessions.ts'
import { readNoteFile } from '../../src/store/notes/note-files.ts'
import { readNote } from '../../src/store/notes/notes.ts'
import { readOpenClaw } from '../../src/store/openclaw/openclaw-source.ts'
import { openclawReader } from '../../src/store/openclaw/openclaw-stores.ts'
import { Database } from '../../src/store/sqlite/database.ts'
import { readForeignDatabase } from '../../src/store/sqlite/foreign-database.ts'
import { readChain } from '../../src/store/transcripts/claude-chain.ts'
import { inspectTranscript } from '../../src/store/transcripts/transcript-repair.ts'
import { readWorkspaceFile } from '../../src/store/disk/foreign-file.ts'

const root = mkdtempSync(join(tmpdir(), 'rockpool-pipes-'))
const id = '11111111-2222-4333-8444-555555555555'

/** A pipe without a writer. */
function pipe(...parts: string[]): string {
  const path = join(root, ...parts)
  mkdirSync(dirname(path), { recursive: true })
  execFileSync('mkfifo', [path])
  return path
}

/** A database with a pipe in place of its journal. */
function database(name: string): string {
  const path = join(root, name)
  const db = new DatabaseSync(path)
  db.exec('CREATE TABLE session (id TEXT)')
  db.close()
  pipe(`${name}-journal`)
  return path
}

const transcript = pipe('claude', 'projects', '-srv', `${id}.jsonl`)
const note = pipe('workspace', 'memory', 'day.md')
const places: Record<string, () => unknown> = {
  'the .git of a folder': () => worktreesOf(dirname(pipe('repository', '.git'))),
  'the gitdir of a working tree': () => {
    pipe('main', '.git', 'worktrees', 'side', 'gitdir')
    return worktreesOf(join(root, 'main'))
  },
  'the live registry': () => {
    pipe('claude', 'sessions', '1.json')
    return readLiveSessions([join(root, 'claude')])
  },
  'the live registry before a resume': () => otherWriter(join(root, 'claude'), id, () => false),
  'a transcript of Claude, listed': () => listTranscripts([join(root, 'claude')]),
  'a transcript of Claude, scanned': () => new TranscriptScanner().scan(transcript),
  'a transcript of Claude, read': () => cardsOf(transcript, { limit: 5 }),
  'a transcript of Claude, studied': () => anatomyOf(transcript, 0),
  'a transcript of Claude, spoken': () => conversationRecords(transcript).next(),
  'a transcript of Claude, before a resume': () => readChain(transcript),
  'a transcript of ours': () => inspectTranscript(transcript),
  'a transcript, indexed': () => openSource(transcript),
  'a transcript, shown as a hit': () =>
    readPassage({ path: transcript, offset: 0, length: 10, kind: 'claude' } as never),
  'a transcript, through the library': () => sessionFileEntry(transcript),
  'a document of a project': () => readDoc(dirname(pipe('project', 'README.md')), 'README.md'),
  'a skill': () => readSkills(dirname(dirname(dirname(pipe('workspace', 'skills', 'x', 'SKILL.md'))))),
  'a file of the workspace': () => {
    pipe('workspace', 'HEARTBEAT.md')
    return readWorkspaceFile(join(root, 'workspace'), 'HEARTBEAT.md')
  },
  'a note': () => readNote([{ name: 'memory/day.md', path: note } as never], 'day'),
  'a shared note': () => readNoteFile(note),
  'sessions.json': () => readFileSafely(pipe('agents', 'main', 'sessions', 'sessions.json')),
  'sessions.json, recovered': () => {
    pipe('agents', 'main', 'sessions', `${id}.jsonl`)
    return recoverSessions(join(root, 'agents', 'main', 'sessions', 'sessions.json'))
  },
  'the sessions of an OpenClaw': () => [...readOpenClaw(root)],
  'the sessions of an OpenClaw, listed': () => openclawReader(root, silentLog)(),
  'the database of an OpenClaw': () => Database.open(pipe('other.sqlite'), [], { readOnly: true }),
  'the journal of the database of an opencode': () => {
    const path = database('opencode.db')
    return readForeignDatabase(path, { tables: [], read: (rows) => [...rows('SELECT * FROM sqlite_master')] })
  },
  'the journal of the database of an OpenClaw': () => {
    const { queries } = Database.open(database('journal.sqlite'), [], { readOnly: true })
    return queries.all('SELECT * FROM sqlite_master')
  },
  'a lock': async () => {
    pipe('held.json.lock')
    writeFileSync(join(root, 'held.json'), '{}')
    const lock = new FileLock(join(root, 'held.json'), { timeoutMs: 50 })
    await lock.hold('test', async () => {})
  },
}

for (const [place, read] of Object.entries(places)) {
  process.stdout.write(`${place}\n`)
  try {
    await read()
  } catch (error) {
    // A refusal is an answer, too; what must not happen is to wait.
    if (!(error instanceof Error)) throw error
  }
}
process.stdout.write('done\n')
rmSync(root, { recursive: true, force: true })
process.exit(0)
