// The words that the scan knows: keys of records, types of records and names of tools. A word in the buffer is recognised by its
// number, without a string being made of it.
import { base } from './memory'

export enum Word {
  unknown,
  // Strings at the top level of a record, in the order of their spans.
  subtype,
  requestId,
  timestamp,
  cwd,
  gitBranch,
  version,
  sessionId,
  uuid,
  slug,
  entrypoint,
  permissionMode,
  promptCacheRequested,
  // Other keys at the top level.
  type,
  message,
  attachment,
  forkedFrom,
  data,
  agentId,
  toolUseResult,
  isMeta,
  isCompactSummary,
  isSidechain,
  isApiErrorMessage,
  // Keys of a message and its usage.
  id,
  role,
  model,
  content,
  usage,
  text,
  tool_use_id,
  input_tokens,
  output_tokens,
  cache_read_input_tokens,
  cache_creation_input_tokens,
  ephemeral_5m_input_tokens,
  ephemeral_1h_input_tokens,
  cache_creation,
  speed,
  // Keys of calls and of their results.
  name,
  input,
  is_error,
  command,
  filePath,
  structuredPatch,
  lines,
  // Types of records and blocks, and other values.
  user,
  assistant,
  system,
  progress,
  tool_result,
  fast,
  // Tools.
  Edit,
  MultiEdit,
  Write,
  NotebookEdit,
  Bash,
  count,
}

const longest = 32
/** For each word its bytes, and before them its length. */
const spelled = memory.data(<i32>Word.count * (longest + 4))
/** Open addressing: the number of a word, or 0. */
const slotCount: u32 = 256
const slots = memory.data(256)

/** The number of the word with these bytes; 0 if it is not known. */
export function wordAt(at: i32, length: i32): Word {
  if (length < 1 || length > longest) return Word.unknown
  const from = <usize>at + base
  let slot = hash(from, length)
  let word = <i32>load<u8>(slots + slot)
  while (word != 0 && !isSpelled(word, from, length)) {
    slot = (slot + 1) % slotCount
    word = <i32>load<u8>(slots + slot)
  }
  return word
}

function isSpelled(word: i32, from: usize, length: i32): bool {
  const known = spelled + word * (longest + 4)
  if (load<i32>(known) != length) return false
  for (let i = 0; i < length; i += 4) {
    const difference = load<u32>(known + i, 4) ^ load<u32>(from + i)
    if ((difference & firstBytes(length - i)) != 0) return false
  }
  return true
}

function hash(from: usize, length: i32): u32 {
  const first = load<u32>(from) & firstBytes(length)
  const last = load<u8>(from + length - 1)
  return (((first ^ (length << 16)) * 0x9e3779b1) ^ (last * 0x85ebca6b)) >>> 24
}

/** A mask for the first bytes of a number with four. */
function firstBytes(count: i32): u32 {
  return count >= 4 ? 0xffff_ffff : (1 << (count * 8)) - 1
}

function define(word: Word, text: string): void {
  const known = spelled + word * (longest + 4)
  store<i32>(known, text.length)
  for (let i = 0; i < text.length; i++) store<u8>(known + i, text.charCodeAt(i), 4)
  let slot = hash(known + 4, text.length)
  while (load<u8>(slots + slot) != 0) slot = (slot + 1) % slotCount
  store<u8>(slots + slot, word)
}

define(Word.subtype, 'subtype')
define(Word.requestId, 'requestId')
define(Word.timestamp, 'timestamp')
define(Word.cwd, 'cwd')
define(Word.gitBranch, 'gitBranch')
define(Word.version, 'version')
define(Word.sessionId, 'sessionId')
define(Word.uuid, 'uuid')
define(Word.slug, 'slug')
define(Word.entrypoint, 'entrypoint')
define(Word.permissionMode, 'permissionMode')
define(Word.promptCacheRequested, 'promptCacheRequested')
define(Word.type, 'type')
define(Word.message, 'message')
define(Word.attachment, 'attachment')
define(Word.forkedFrom, 'forkedFrom')
define(Word.data, 'data')
define(Word.agentId, 'agentId')
define(Word.toolUseResult, 'toolUseResult')
define(Word.isMeta, 'isMeta')
define(Word.isCompactSummary, 'isCompactSummary')
define(Word.isSidechain, 'isSidechain')
define(Word.isApiErrorMessage, 'isApiErrorMessage')
define(Word.id, 'id')
define(Word.role, 'role')
define(Word.model, 'model')
define(Word.content, 'content')
define(Word.usage, 'usage')
define(Word.text, 'text')
define(Word.tool_use_id, 'tool_use_id')
define(Word.input_tokens, 'input_tokens')
define(Word.output_tokens, 'output_tokens')
define(Word.cache_read_input_tokens, 'cache_read_input_tokens')
define(Word.cache_creation_input_tokens, 'cache_creation_input_tokens')
define(Word.ephemeral_5m_input_tokens, 'ephemeral_5m_input_tokens')
define(Word.ephemeral_1h_input_tokens, 'ephemeral_1h_input_tokens')
define(Word.cache_creation, 'cache_creation')
define(Word.speed, 'speed')
define(Word.name, 'name')
define(Word.input, 'input')
define(Word.is_error, 'is_error')
define(Word.command, 'command')
define(Word.filePath, 'filePath')
define(Word.structuredPatch, 'structuredPatch')
define(Word.lines, 'lines')
define(Word.user, 'user')
define(Word.assistant, 'assistant')
define(Word.system, 'system')
define(Word.progress, 'progress')
define(Word.tool_result, 'tool_result')
define(Word.fast, 'fast')
define(Word.Edit, 'Edit')
define(Word.MultiEdit, 'MultiEdit')
define(Word.Write, 'Write')
define(Word.NotebookEdit, 'NotebookEdit')
define(Word.Bash, 'Bash')
