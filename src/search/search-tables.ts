// The tables of the search index: sources, their passages, the words and pieces of them, and vectors.
import { Database } from '../store/sqlite/database.ts'
import { vectorTable } from './search-vectors.ts'

export function openSearchDatabase(path: string): Database {
  const database = Database.open(path, migrations, { durability: 'relaxed' })
  // A search reads all vectors and parts of the rest: memory mapping avoids a read call for each page.
  database.queries.exec(`PRAGMA mmap_size = ${1 << 29}`)
  return database
}

const migrations = [
  `CREATE TABLE source (
     id INTEGER PRIMARY KEY,
     path TEXT NOT NULL UNIQUE,
     kind TEXT NOT NULL,
     agent_ids TEXT, session_id TEXT NOT NULL, session_key TEXT, repo_path TEXT, branch TEXT, channel TEXT,
     inode TEXT NOT NULL, size INTEGER NOT NULL, mtime_ms REAL NOT NULL,
     read_bytes INTEGER NOT NULL, read_lines INTEGER NOT NULL,
     tools_bytes INTEGER NOT NULL DEFAULT 0, tools_lines INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE TABLE passage (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     source_id INTEGER NOT NULL,
     line INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
     role INTEGER NOT NULL, at INTEGER NOT NULL,
     has_pieces INTEGER NOT NULL DEFAULT 0, has_vector INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE INDEX passage_source ON passage (source_id);
   CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
   CREATE VIRTUAL TABLE pieces USING fts5(text, content='', contentless_delete=1, detail=none, tokenize="trigram remove_diacritics 1");
   CREATE TABLE vector (
     round INTEGER PRIMARY KEY AUTOINCREMENT, passage_id INTEGER NOT NULL UNIQUE, source_id INTEGER NOT NULL,
     model TEXT NOT NULL, vector BLOB NOT NULL
   ) STRICT;`,
  `DROP TABLE vector; UPDATE passage SET has_vector = 0; ${vectorTable}`,
  'CREATE INDEX passage_at ON passage (at)',
  'CREATE TABLE settled (stamp TEXT NOT NULL) STRICT',
  'ALTER TABLE source ADD COLUMN chat_id TEXT; DELETE FROM settled',
]
