// The lines of a Codex rollout as records. Two forms exist, and files that have both: older versions write what people see as
// `user_message` and `agent_message`, newer ones as completed items. Tokens: Codex repeats its totals, so a turn is counted by its
// usage records if it has any, else by each token count whose total differs from the one before.
import { isAbsolute, join } from 'node:path'
import { isRecord, isTooDeep } from '../../../domain/json.ts'
import type { AgentRecord, AgentUsage, UntimedRecord } from '../../../domain/agent-records.ts'
import { countField, textField } from '../contract.ts'
import type { LineTranslator, Skimmed } from '../json-lines.ts'
import { skimLine, type CodexState } from './codex-skim.ts'

type Fields = Record<string, unknown>

const toolCalls = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'web_search_call',
  'tool_search_call',
])
const patchFile = /^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$/gm

export class CodexTranslator implements LineTranslator {
  readonly state: CodexState
  constructor(state?: unknown) {
    this.state = (state as CodexState | undefined) ?? {
      hasCopies: false,
      ownFrom: 0,
      model: 'unknown',
      fast: false,
      counts: 0,
      patches: {},
      reported: [],
    }
  }

  translate(line: Fields): AgentRecord[] {
    const payload = isRecord(line['payload']) ? line['payload'] : {}
    const at = textField(line['timestamp']) ?? ''
    if (line['type'] === 'session_meta') return this.#session(payload, at)
    const { state } = this
    const isTurn = line['type'] === 'turn_context' || payload['type'] === 'task_started'
    const turn = textField(payload['turn_id']) ?? state.turn
    if (isTurn) state.turn = turn
    const { ordinal } = line
    const isCopy =
      (typeof ordinal === 'number' && ordinal < state.ownFrom) ||
      (state.hasCopies && turn !== undefined && turn < (state.id ?? ''))
    const inherited = isCopy || undefined
    return this.#records(line['type'], payload, isCopy).map((record) => ({ ...record, at, inherited }))
  }

  skim(bytes: Buffer): Skimmed | undefined {
    return skimLine(bytes, this.state)
  }

  #records(type: unknown, payload: Fields, isCopy: boolean): UntimedRecord[] {
    switch (type) {
      case 'turn_context':
        return this.#turnContext(payload, isCopy)
      case 'token_usage_record':
        return this.#usageRecord(payload)
      case 'compacted':
        return [{ kind: 'compaction', text: textField(payload['message']) ?? '' }]
      case 'response_item':
        return this.#item(payload)
      case 'event_msg':
        return this.#event(payload)
      default:
        return []
    }
  }

  /** A second one is the parent's, at the beginning of a copied history, or a repetition. */
  #session(meta: Fields, at: string): AgentRecord[] {
    const { state } = this
    if (state.id !== undefined) return []
    state.id = textField(meta['id']) ?? textField(meta['session_id'])
    state.cwd = textField(meta['cwd'])
    state.ownFrom = countField(meta['subagent_history_start_ordinal'])
    const forkedFrom = textField(meta['forked_from_id'])
    state.hasCopies = forkedFrom !== undefined
    const { git, source } = meta
    const about = {
      id: state.id,
      parent: subagentParent(meta) ?? (forkedFrom ? { kind: 'fork' as const, id: forkedFrom } : undefined),
      cwd: state.cwd,
      branch: isRecord(git) ? textField(git['branch']) : undefined,
      version: textField(meta['cli_version']),
      entrypoint: textField(source) ?? (isRecord(source) ? 'subagent' : undefined),
      startedAt: textField(meta['timestamp']) ?? (at || undefined),
    }
    return [{ kind: 'session', at: '', about }]
  }

  #turnContext(payload: Fields, isCopy: boolean): UntimedRecord[] {
    const { state } = this
    state.model = textField(payload['model']) ?? state.model
    const cwd = textField(payload['cwd'])
    const model: UntimedRecord = { kind: 'model', model: state.model }
    if (isCopy || cwd === undefined || cwd === state.cwd) return [model]
    state.cwd = cwd
    return [model, { kind: 'session', about: { cwd } }]
  }

  #usageRecord(payload: Fields): UntimedRecord[] {
    const { state } = this
    const id = textField(payload['response_id']) ?? `${state.id} ${state.counts++}`
    state.recordedTurn = state.turn
    return [{ kind: 'usage', id, model: state.model, fast: state.fast, ...usageOf(payload['usage']) }]
  }

  #tokenCount(payload: Fields): UntimedRecord[] {
    const { state } = this
    const { info } = payload
    if (!isRecord(info)) return []
    const total = JSON.stringify(info['total_token_usage'])
    if (total === state.total) return []
    state.total = total
    if (state.recordedTurn !== undefined && state.recordedTurn === state.turn) return []
    const id = `${state.id} ${state.turn} ${state.counts++}`
    const usage = usageOf(info['last_token_usage'])
    return [{ kind: 'usage', id, model: state.model, fast: state.fast, ...usage }]
  }

  #event(payload: Fields): UntimedRecord[] {
    switch (payload['type']) {
      case 'user_message':
        return [{ kind: 'prompt', text: textField(payload['message']) ?? '' }]
      case 'agent_message':
        return [{ kind: 'answer', text: textField(payload['message']) ?? '' }]
      case 'agent_reasoning':
        return [{ kind: 'thinking', text: textField(payload['text']) ?? '' }]
      case 'item_completed':
        return isRecord(payload['item']) ? this.#completed(payload['item']) : []
      case 'patch_apply_end':
        return payload['success'] === true ? this.#changes(payload['changes'], payload['call_id']) : []
      case 'token_count':
        return this.#tokenCount(payload)
      case 'task_started':
        return this.#started(payload)
      case 'task_complete':
        return [endOf(payload['error'])]
      case 'turn_aborted':
        return [{ kind: 'turn-end', outcome: 'interrupted', error: textField(payload['reason']) }]
      case 'thread_settings_applied':
        return this.#settings(payload['thread_settings'])
      case 'thread_name_updated':
        return [{ kind: 'session', about: { title: textField(payload['thread_name']) } }]
      default:
        return []
    }
  }

  #started(payload: Fields): UntimedRecord[] {
    this.state.patches = {}
    this.state.reported = []
    const contextWindow = countField(payload['model_context_window']) || undefined
    return [{ kind: 'turn-start' }, { kind: 'session', about: { contextWindow } }]
  }

  #settings(settings: unknown): UntimedRecord[] {
    if (isRecord(settings)) this.state.fast = settings['service_tier'] === 'priority'
    return []
  }

  #completed(item: Fields): UntimedRecord[] {
    const id = textField(item['id'])
    switch (item['type']) {
      case 'UserMessage':
        return [{ kind: 'prompt', text: textsIn(item['content']), id }]
      case 'AgentMessage':
        return [{ kind: 'answer', text: textsIn(item['content']), id }]
      case 'Reasoning':
        return [{ kind: 'thinking', text: textsIn(item['summary_text']), id }]
      case 'FileChange':
        return item['status'] === 'completed' ? this.#changes(item['changes'], id) : []
      case 'CollabAgentToolCall':
        return spawned(item)
      default:
        return []
    }
  }

  #changes(changes: unknown, callId: unknown): UntimedRecord[] {
    if (!isRecord(changes)) return []
    this.state.reported.push(String(callId))
    return Object.entries(changes).map(([path, changed]) => {
      const fields = isRecord(changed) ? changed : {}
      const change = changeOf(fields['type'])
      const [diff, content] = [textField(fields['unified_diff']), textField(fields['content'])]
      const moved = textField(fields['move_path'])
      return {
        kind: 'edit',
        path: moved ?? path,
        change,
        diff,
        content: diff === undefined ? content : undefined,
      }
    })
  }

  /** What the model sends and receives. Its texts repeat the events, so only tools are taken from here. */
  #item(payload: Fields): UntimedRecord[] {
    const type = String(payload['type'])
    const id = textField(payload['call_id']) ?? textField(payload['id']) ?? ''
    if (toolCalls.has(type)) {
      const name = textField(payload['name']) ?? type
      const input = inputOf(payload)
      if (name === 'apply_patch')
        this.state.patches[id] = { cwd: this.state.cwd ?? '', patch: String(payload['input']) }
      return [{ kind: 'tool-call', id, name, input }]
    }
    if (!type.endsWith('_call_output')) return []
    const text = outputText(payload['output'])
    const failed = /(?:Process exited with code|^Exit code:) (?!0\b)\d+/m.test(text)
    return [{ kind: 'tool-result', id, text, isError: failed }, ...this.#patched(id, text)]
  }

  /** Some runs record no event for a patch: then the patch itself names the files. */
  #patched(id: string, output: string): UntimedRecord[] {
    const { patches, reported } = this.state
    const patched = patches[id]
    delete patches[id]
    if (!patched || reported.includes(id) || !output.includes('Success')) return []
    const starts = [...patched.patch.matchAll(patchFile)]
    return starts.map(({ index, 1: how, 2: file, 3: moved }, i) => {
      const path = (file ?? moved ?? '').trim()
      const change = how === undefined ? 'add' : changeOf(how.toLowerCase())
      // The lines of a file stand below its name; they begin with `+` as in a diff.
      const diff = patched.patch.slice(index, starts[i + 1]?.index)
      return { kind: 'edit', path: isAbsolute(path) ? path : join(patched.cwd, path), change, diff }
    })
  }
}

function subagentParent(meta: Fields) {
  const { source } = meta
  const subagent = isRecord(source) ? source['subagent'] : undefined
  const spawn = isRecord(subagent) ? subagent['thread_spawn'] : undefined
  const id =
    textField(meta['parent_thread_id']) ??
    (isRecord(spawn) ? textField(spawn['parent_thread_id']) : undefined)
  if (id === undefined && subagent === undefined) return undefined
  // `session_id` is the thread of the person, also for the sub-agent of a sub-agent.
  const root = textField(meta['session_id'])
  return { kind: 'subagent' as const, id: id ?? '', root: root === meta['id'] ? undefined : root }
}

/** Codex reports cached tokens as a part of the input. */
function usageOf(value: unknown): AgentUsage {
  const usage = isRecord(value) ? value : {}
  const cacheRead = countField(usage['cached_input_tokens'])
  const cacheWrite = countField(usage['cache_write_input_tokens'])
  return {
    input: Math.max(0, countField(usage['input_tokens']) - cacheRead - cacheWrite),
    cacheRead,
    cacheWrite,
    output: countField(usage['output_tokens']),
    reasoning: countField(usage['reasoning_output_tokens']),
  }
}

function endOf(error: unknown): UntimedRecord {
  if (!isRecord(error)) return { kind: 'turn-end', outcome: 'completed' }
  const info = error['codex_error_info']
  return { kind: 'turn-end', outcome: 'failed', error: textField(info) ?? JSON.stringify(info) }
}

function spawned(item: Fields): UntimedRecord[] {
  const ids = Array.isArray(item['receiver_thread_ids']) ? item['receiver_thread_ids'] : []
  if (item['tool'] !== 'spawnAgent' && item['tool'] !== 'spawn_agent') return []
  return ids.map((id) => ({
    kind: 'subagent',
    id: String(id),
    name: 'agent',
    about: textField(item['prompt']) ?? '',
  }))
}

function changeOf(type: unknown): 'add' | 'update' | 'delete' {
  return type === 'add' || type === 'delete' ? type : 'update'
}

function textsIn(content: unknown): string {
  if (!Array.isArray(content)) return textField(content) ?? ''
  return content.map((part) => (isRecord(part) ? (textField(part['text']) ?? '') : String(part))).join('')
}

/** Arguments are JSON in a string; the input of a custom tool is any text. */
function inputOf(payload: Fields): Fields {
  const { arguments: written, input, action } = payload
  if (isRecord(action)) return action
  if (typeof input === 'string') return { input }
  if (isRecord(written)) return written
  try {
    const parsed: unknown = JSON.parse(String(written))
    if (!isTooDeep(parsed)) return isRecord(parsed) ? parsed : { input: parsed }
  } catch {
    // The model wrote no valid JSON.
  }
  // People still see what it wrote.
  return { input: written }
}

function outputText(output: unknown): string {
  if (typeof output === 'string') return output
  return Array.isArray(output) ? textsIn(output) : JSON.stringify(output ?? '')
}
