// Answers questions of a coding session about its chat: its messages, and the memory of OpenClaw's agent.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForeign } from '../../../src/store/disk/foreign-file.ts'
import { listNotes } from '../../../src/store/notes/notes.ts'
import { workspaceOf } from './agents.ts'
import { currentConfig } from './openclaw-api.ts'
import type { OpenClawApi, StoredMessage } from './openclaw-api.ts'
import { readSessionRow, sessionFolder } from './origin.ts'
import type { Target } from './origin.ts'

export interface Question {
  id: string
  kind: 'conversation' | 'memory'
  target: Target
  limit: number
  query?: string
}

interface Line {
  role: string
  text: string
  at?: string
}

interface Hit {
  source: string
  text: string
}

type Answer = { id: string } & ({ lines: Line[] } | { hits: Hit[] } | { error: string })

export async function answerQuestion(api: OpenClawApi, question: Question): Promise<Answer> {
  const { id, kind, target, limit, query = '' } = question
  try {
    if (kind === 'conversation') return { id, lines: await conversation(api, target, limit) }
    return { id, hits: await searchMemory(api, target, query, limit) }
  } catch (error) {
    return { id, error: String(error) }
  }
}

/** 2026.1.30 keeps a file for each session. In later versions OpenClaw itself reads the session. */
async function conversation(api: OpenClawApi, target: Target, limit: number): Promise<Line[]> {
  const messages = transcriptFile(api, target) ?? (await askForHistory(api, target, limit))
  return messages
    .map(lineOf)
    .filter(({ role, text }) => isSpoken(role) && text !== '')
    .slice(-limit)
}

function transcriptFile(api: OpenClawApi, { agentId, sessionKey }: Target): StoredMessage[] | undefined {
  const sessionId = readSessionRow(api, agentId, sessionKey)?.sessionId
  if (sessionId === undefined) return undefined
  const text = readFileSync(join(sessionFolder(api, agentId), `${sessionId}.jsonl`), 'utf8')
  return text.split('\n').flatMap((line) => {
    const entry = line === '' ? {} : (JSON.parse(line) as { type?: string; message?: StoredMessage })
    return entry.type === 'message' && entry.message ? [entry.message] : []
  })
}

async function askForHistory(
  { runtime }: OpenClawApi,
  { sessionKey }: Target,
  limit: number,
): Promise<StoredMessage[]> {
  if (!runtime.subagent) throw new Error(`OpenClaw has no transcript of the session ${sessionKey}.`)
  // Results of tools are messages, too.
  return (await runtime.subagent.getSessionMessages({ sessionKey, limit: limit * 10 })).messages
}

function lineOf({ role = '', content = '', timestamp }: StoredMessage): Line {
  const text = typeof content === 'string' ? content : content.map((block) => block.text ?? '').join('')
  return {
    role,
    text: text.trim(),
    at: timestamp === undefined ? undefined : new Date(timestamp).toISOString(),
  }
}

function isSpoken(role: string): boolean {
  return role === 'user' || role === 'assistant'
}

/** OpenClaw's own search where a plugin may call it and an embedding model is set up; otherwise the words in its memory files. */
async function searchMemory(api: OpenClawApi, target: Target, query: string, limit: number): Promise<Hit[]> {
  const config = currentConfig(api)
  const tool = api.runtime.tools?.createMemorySearchTool?.({ config, agentSessionKey: target.sessionKey })
  const answer = await tool?.execute('rockpool', { query, maxResults: limit })
  const { results } = (answer?.details ?? {}) as { results?: Array<{ path: string; snippet: string }> }
  if (results && results.length > 0)
    return results.map(({ path, snippet }) => ({ source: path, text: snippet }))
  return searchFiles(workspaceOf(api, target.agentId), query, limit)
}

const maxFileBytes = 1_000_000

/** The paragraphs with most words of the query, from `MEMORY.md` and `memory/`. */
function searchFiles(workspace: string, query: string, limit: number): Hit[] {
  const all = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  // Short words are in every text.
  const long = all.filter((word) => word.length > 3)
  const words = long.length > 0 ? long : all
  // No links: the workspace may be a repository of somebody else, and the session reads without a question.
  const notes = listNotes(workspace).filter(({ bytes }) => bytes <= maxFileBytes)
  const found = notes.flatMap(({ name: source, path }) =>
    readForeign(path, maxFileBytes, { noLink: true })
      .toString('utf8')
      .split(/\n\s*\n/)
      .map((text) => ({ source, text: text.trim(), score: scoreOf(text, words) })),
  )
  const best = found.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)
  return best
    .slice(0, limit)
    .map(({ source, text }) => ({ source, text: text.slice(0, 3_000).toWellFormed() }))
}

function scoreOf(text: string, words: readonly string[]): number {
  const lower = text.toLowerCase()
  return words.filter((word) => lower.includes(word)).length
}
