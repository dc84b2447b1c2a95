// Writes a conversation as a native session of another agent, so that its program opens and continues it. Each form is the least that
// the real program accepts; test/full/handoff.test.ts lets the programs continue.
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { attempt } from '../../domain/errors.ts'
import { createFileAtomically } from '../../store/disk/atomic-file.ts'
import { readForeign } from '../../store/disk/foreign-file.ts'
import { repoPathToSlug } from '../repo-paths.ts'
import { callAsText, translatedCall, type HandoffTarget } from './handoff-tools.ts'
import type { HandoffTurn } from './handoff-turns.ts'

interface HandoffPlace {
  to: HandoffTarget
  /** Where the target keeps its sessions: its config directory; for pi the folder of its sessions. */
  home: string
  cwd: string
  branch: string
}

interface WrittenHandoff {
  sessionId: string
  filePath: string
  /** Tool calls that became text. */
  callsAsText: number
}

/** The file is new, so no existing session changes. */
export async function writeHandoff(
  turns: readonly HandoffTurn[],
  place: HandoffPlace,
): Promise<WrittenHandoff> {
  const now = new Date()
  const sessionId = place.to === 'claude' ? randomUUID() : timedId(now)
  const translated = turns.map((turn) => translatedTurn(turn, place.to))
  const records = formats[place.to](translated, sessionId, place, now)
  const filePath = join(place.home, pathOf(place, sessionId, now))
  await mkdir(dirname(filePath), { recursive: true, mode: 0o700 })
  await createFileAtomically(filePath, `${records.map((record) => JSON.stringify(record)).join('\n')}\n`)
  const callsAsText = turns.filter(({ role }, i) => role === 'tool' && translated[i]!.role !== 'tool').length
  return { sessionId, filePath, callsAsText }
}

/** A tool turn is in the words of the target, or is text. */
function translatedTurn(turn: HandoffTurn, to: HandoffTarget): HandoffTurn {
  if (turn.role !== 'tool') return turn
  const call = translatedCall(turn, to)
  return call ? { ...turn, ...call } : { role: 'assistant', text: callAsText(turn), at: turn.at }
}

/** Codex and pi look for sessions by date and by folder. */
function pathOf({ to, cwd }: HandoffPlace, sessionId: string, now: Date): string {
  const [day = '', time = ''] = now.toISOString().slice(0, 19).split('T')
  if (to === 'codex')
    return join(
      'sessions',
      ...day.split('-'),
      `rollout-${day}T${time.replaceAll(':', '-')}-${sessionId}.jsonl`,
    )
  if (to === 'claude') return join('projects', repoPathToSlug(cwd), `${sessionId}.jsonl`)
  const folder = `--${cwd.replace(/^[/\\]/, '').replaceAll(/[/\\:]/g, '-')}--`
  return join(folder, `${now.toISOString().replaceAll(/[:.]/g, '-')}_${sessionId}.jsonl`)
}

type Format = (turns: HandoffTurn[], sessionId: string, place: HandoffPlace, now: Date) => object[]

const formats: Record<HandoffTarget, Format> = { codex: codexRecords, pi: piRecords, claude: claudeRecords }

/** A response item is what the model gets, an event what people see. */
function codexRecords(
  turns: HandoffTurn[],
  id: string,
  { home, cwd, branch }: HandoffPlace,
  now: Date,
): object[] {
  const timestamp = now.toISOString()
  const record = (type: string, payload: object): object => ({ timestamp, type, payload })
  const git = branch === '' ? undefined : { branch }
  const meta = { id, timestamp, cwd, originator: 'rockpool', cli_version: '0.166.0', source: 'cli', git }
  return [
    record('session_meta', { ...meta, model_provider: codexProvider(home) }),
    ...turns.flatMap((turn, i) => {
      if (turn.role === 'tool') {
        const call = { name: turn.name, arguments: JSON.stringify(turn.input), call_id: `call_${i}` }
        const output = { type: 'function_call_output', call_id: `call_${i}`, output: turn.output }
        return [record('response_item', { type: 'function_call', ...call }), record('response_item', output)]
      }
      const isUser = turn.role === 'user'
      const content = [{ type: isUser ? 'input_text' : 'output_text', text: turn.text }]
      return [
        record('response_item', { type: 'message', role: turn.role, content }),
        record('event_msg', { type: isUser ? 'user_message' : 'agent_message', message: turn.text }),
      ]
    }),
  ]
}

/** Codex' terminal refuses a session whose provider is not configured. */
function codexProvider(home: string): string {
  const config = attempt(() => readForeign(join(home, 'config.toml'), 1 << 20).toString('utf8'), '')
  const top = config.split(/^\s*\[/m, 1)[0] ?? ''
  return /^\s*model_provider\s*=\s*"([^"]+)"/m.exec(top)?.[1] ?? 'openai'
}

/** pi reads the usage of every answer, so each has one. */
function piRecords(turns: HandoffTurn[], id: string, { cwd }: HandoffPlace, now: Date): object[] {
  const timestamp = now.toISOString()
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost }
  const model = { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-sonnet-4-5' }
  const answer = (content: object[], stopReason: string): object => ({
    role: 'assistant',
    content,
    ...model,
    usage,
    stopReason,
  })
  const messages = turns.flatMap((turn, i): object[] => {
    if (turn.role !== 'tool') {
      const said = [{ type: 'text', text: turn.text }]
      return [turn.role === 'user' ? { role: 'user', content: said } : answer(said, 'stop')]
    }
    const { name, input, output, isError } = turn
    const content = [{ type: 'text', text: output }]
    return [
      answer([{ type: 'toolCall', id: `toolu_${i}`, name, arguments: input }], 'toolUse'),
      { role: 'toolResult', toolCallId: `toolu_${i}`, toolName: name, content, isError },
    ]
  })
  const ids = messages.map(() => randomBytes(4).toString('hex'))
  return [
    { type: 'session', version: 3, id, timestamp, cwd },
    ...messages.map((message, i) => ({
      type: 'message',
      id: ids[i],
      parentId: ids[i - 1] ?? null,
      timestamp,
      message: { ...message, timestamp: now.getTime() },
    })),
  ]
}

function claudeRecords(turns: HandoffTurn[], sessionId: string, place: HandoffPlace, now: Date): object[] {
  const { cwd, branch } = place
  const usage = {
    input_tokens: 0,
    output_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  }
  const answer = (i: number, content: object[], stop_reason: string): object => ({
    id: `msg_handoff_${sessionId.slice(0, 8)}_${i}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  })
  const messages = turns.flatMap((turn, i): object[] => {
    if (turn.role !== 'tool') {
      const said = [{ type: 'text', text: turn.text }]
      return [turn.role === 'user' ? { role: 'user', content: turn.text } : answer(i, said, 'end_turn')]
    }
    const { name, input, output, isError } = turn
    const id = `toolu_${i}`
    const result = { type: 'tool_result', tool_use_id: id, content: output, is_error: isError || undefined }
    return [
      answer(i, [{ type: 'tool_use', id, name, input }], 'tool_use'),
      { role: 'user', content: [result] },
    ]
  })
  const uuids = messages.map(() => randomUUID())
  const common = { isSidechain: false, userType: 'external', cwd, sessionId, version: '2.1.325' }
  return messages.map((message, i) => ({
    parentUuid: uuids[i - 1] ?? null,
    ...common,
    gitBranch: branch,
    type: 'role' in message ? message.role : 'user',
    message,
    uuid: uuids[i],
    timestamp: new Date(now.getTime() + i).toISOString(),
  }))
}

/** A UUID of version 7, which begins with the time: Codex sorts by it. */
function timedId(now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0')
  const random = randomBytes(10).toString('hex')
  const variant = (8 + (Number.parseInt(random[3]!, 16) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`
}
