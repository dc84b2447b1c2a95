// All readers of other agents, and what is asked of any of them.
import type { OtherAgent } from '../../domain/discovered-session.ts'
import { codexReader } from './codex/codex-files.ts'
import type { AgentReader } from './contract.ts'
import { geminiReader } from './gemini/gemini-files.ts'
import { opencodeReader } from './opencode/opencode-files.ts'
import { piReader } from './pi/pi-files.ts'

export const agentReaders: readonly AgentReader[] = [codexReader, geminiReader, opencodeReader, piReader]

export function readerOf(kind: OtherAgent): AgentReader {
  return agentReaders.find((reader) => reader.kind === kind)!
}
