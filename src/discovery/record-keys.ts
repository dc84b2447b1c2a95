// The kinds of records and the keys in them that a scan looks for.
import { WordTable } from './json-bytes.ts'

export const Kind = {
  user: 1,
  assistant: 2,
  system: 3,
  attachment: 4,
  progress: 5,
  other: 6,
  unknown: 7,
} as const
export type Kind = (typeof Kind)[keyof typeof Kind]

/** Keys that we look for, by number: a number is found and compared faster than a name. */
export const Key = {
  type: 1,
  message: 2,
  isSidechain: 3,
  timestamp: 4,
  requestId: 5,
  attachment: 6,
  subtype: 7,
  isMeta: 8,
  isCompactSummary: 9,
  isApiErrorMessage: 10,
  cwd: 11,
  gitBranch: 12,
  version: 13,
  sessionId: 14,
  slug: 15,
  entrypoint: 16,
  permissionMode: 17,
  promptCacheRequested: 18,
  forkedFrom: 19,
  id: 20,
  role: 21,
  model: 22,
  content: 23,
  usage: 24,
  text: 25,
  tool_use_id: 26,
  input_tokens: 27,
  output_tokens: 28,
  cache_read_input_tokens: 29,
  cache_creation_input_tokens: 30,
  cache_creation: 31,
  ephemeral_5m_input_tokens: 32,
  ephemeral_1h_input_tokens: 33,
  speed: 34,
  uuid: 35,
  data: 36,
  agentId: 37,
} as const

/** Strings at the top level of a record. */
export const topStrings = [
  'subtype',
  'requestId',
  'timestamp',
  'cwd',
  'gitBranch',
  'version',
  'sessionId',
  'uuid',
  'slug',
  'entrypoint',
  'permissionMode',
  'promptCacheRequested',
] as const

export const keys = new WordTable(Key)
/** The types of records that have a kind of their own. */
export const kinds = new WordTable(Kind)

/** Other words that decide what a record is. */
export const Word = {
  tool_result: 1,
  assistant: 2,
  fast: 3,
  '<synthetic>': 4,
  compact_boundary: 5,
  api_error: 6,
} as const
export const words = new WordTable(Word)
