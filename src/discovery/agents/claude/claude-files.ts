// Claude Code behind the contract of all readers. Its files are listed in ../../list-files.ts, and scanned by a scanner of its own that
// reads bytes instead of lines, because people have gigabytes of them.
import { configDirsOf, listTranscripts } from '../../list-files.ts'
import { readLiveSessions } from '../../registries.ts'
import { TranscriptScanner } from '../../transcript-scanner.ts'
import type { AgentReader } from '../contract.ts'
import { readClaudeRecords } from './claude-records.ts'

export const claudeReader: AgentReader = {
  kind: 'claude',
  program: 'Claude Code',
  homes: ({ home, variables }) =>
    configDirsOf({
      home,
      claudeConfigDir: variables['CLAUDE_CONFIG_DIR'],
      discovery: { configDirs: [], onlyConfigured: false },
    }),
  list: (home, listing) => listTranscripts([home], listing),
  scan: ({ path }, before) => new TranscriptScanner().scan(path, before),
  read: ({ path }) => readClaudeRecords(path),
  live: (homes) => readLiveSessions(homes),
  resumeCommand: (sessionId) => ['claude', '--resume', sessionId],
}
