// The part of a conversation that is handed over: its turns as the model last saw them, or a brief of them. Also lists what is
// left out. The same for every agent; write-handoff.ts writes it in the form of one.
import type { AgentConversation, AgentRecord } from '../../domain/agent-records.ts'

export type HandoffTurn =
  | { role: 'user' | 'assistant'; text: string; at: string }
  | {
      role: 'tool'
      name: string
      input: Record<string, unknown>
      output: string
      isError: boolean
      at: string
    }

interface Handoff {
  turns: HandoffTurn[]
  leftOut: LeftOut[]
}

/** For people. */
interface LeftOut {
  what: string
  count: number
  why: string
}

/** Longer results are cut: a model that needs more can call the tool again. */
const longestResultChars = 50_000
const handedOver = '(The conversation was handed over to another agent here.)'

/** The whole conversation. After a compaction: its summary and what follows, as the model has seen it since. */
export function wholeConversation({ records, damaged }: AgentConversation): Handoff {
  const current = records.filter(({ rewound }) => !rewound)
  const at = current.findLastIndex((record) => record.kind === 'compaction' && record.text.trim() !== '')
  const shown = at < 0 ? current : current.slice(at)
  const results = new Map(
    shown.flatMap((record) => (record.kind === 'tool-result' ? [[record.id, record]] : [])),
  )
  const turns = shown.flatMap((record) => turnOf(record, results))
  const last = turns.at(-1)
  // Programs expect an answer after a result, and write one of their own if there is none.
  if (last?.role === 'tool') turns.push({ role: 'assistant', text: handedOver, at: last.at })
  const cut = [...results.values()].filter(({ text }) => text.length > longestResultChars).length
  const count = (kind: AgentRecord['kind'], of: readonly AgentRecord[]): number =>
    of.filter((record) => record.kind === kind).length
  const before = spokenIn(current.slice(0, Math.max(0, at)))
  const leftOut = [
    { what: 'reasoning', count: count('thinking', shown), why: 'it is signed for its own provider' },
    { what: 'rewound records', count: records.length - current.length, why: 'a resume does not see them' },
    { what: 'messages before the last compaction', count: before, why: 'its summary is included' },
    { what: 'ends of long tool results', count: cut, why: `beyond ${longestResultChars} characters` },
    {
      what: 'conversations of sub-agents',
      count: count('subagent', shown),
      why: 'their results are included',
    },
    { what: 'damaged lines', count: damaged, why: 'they could not be read' },
  ]
  return { turns, leftOut: leftOut.filter((part) => part.count > 0) }
}

type Result = Extract<AgentRecord, { kind: 'tool-result' }>

function turnOf(record: AgentRecord, results: ReadonlyMap<string, Result>): HandoffTurn[] {
  const { at } = record
  switch (record.kind) {
    case 'prompt':
    case 'answer': {
      const role = record.kind === 'prompt' ? 'user' : 'assistant'
      return record.text.trim() === '' ? [] : [{ role, text: record.text, at }]
    }
    case 'compaction':
      if (record.text.trim() === '') return []
      return [{ role: 'user', text: `Summary of the conversation so far:\n\n${record.text}`, at }]
    case 'tool-call': {
      const result = results.get(record.id)
      const output = result?.text ?? '(The session ended before the tool answered.)'
      const { name, input } = record
      return [{ role: 'tool', name, input, output: clip(output), isError: result?.isError ?? true, at }]
    }
    default:
      return []
  }
}

function spokenIn(records: readonly AgentRecord[]): number {
  return records.filter(({ kind }) => kind === 'prompt' || kind === 'answer').length
}

const briefChars = 4_000

/** The brief for a new session: the task, the last prompts, the changed files and the last answer. */
export function briefOf(
  conversation: AgentConversation,
  about: { title?: string; program: string },
): Handoff {
  const { turns, leftOut } = wholeConversation(conversation)
  const current = conversation.records.filter(({ rewound }) => !rewound)
  const texts = (kind: 'prompt' | 'answer' | 'compaction'): string[] =>
    current.flatMap((record) => (record.kind === kind && record.text.trim() !== '' ? [record.text] : []))
  const prompts = texts('prompt')
  const files = new Set(current.flatMap((record) => (record.kind === 'edit' ? [record.path] : [])))
  const isOpen = turns.findLast(({ role }) => role !== 'tool')?.role === 'user'
  const parts = [
    `This is the brief of an earlier session of ${about.program}${about.title ? `, "${about.title}"` : ''}.`,
    section('The task', prompts[0]),
    section('Summary', texts('compaction').at(-1)),
    section('Asked since', prompts.slice(1).slice(-5).map(quoted).join('\n')),
    section(
      'Changed files',
      [...files]
        .slice(-50)
        .map((path) => `- ${path}`)
        .join('\n'),
    ),
    section('The last answer', texts('answer').at(-1)),
    isOpen ? section('Open', `No answer was given to: ${prompts.at(-1) ?? ''}`) : undefined,
  ]
  const text = parts.filter((part) => part !== undefined).join('\n\n')
  const at = turns.at(-1)?.at ?? ''
  return {
    turns: [
      { role: 'user', text, at },
      { role: 'assistant', text: 'I have read the brief. What is next?', at },
    ],
    leftOut: [
      { what: 'turns', count: turns.length, why: 'the brief replaces them' },
      ...leftOut.filter(({ what }) => what === 'damaged lines'),
    ],
  }
}

function section(title: string, text: string | undefined): string | undefined {
  if (text === undefined || text.trim() === '') return undefined
  const shown = text.length > briefChars ? `${text.slice(0, briefChars).toWellFormed()}…` : text
  return `${title}:\n${shown}`
}

function quoted(text: string): string {
  return `- ${text.slice(0, 500).toWellFormed().replaceAll(/\s+/g, ' ')}`
}

function clip(text: string): string {
  return text.length <= longestResultChars
    ? text
    : `${text.slice(0, longestResultChars).toWellFormed()}\n… (cut)`
}
