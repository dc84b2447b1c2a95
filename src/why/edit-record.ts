// Reads an edit back from its transcript, by the place that the index has: the texts of the lines it removed and added, and the
// conversation around it.
import { blocksIn, textIn } from '../discovery/cards.ts'
import { recordAt } from '../discovery/record-at.ts'
import type { AgentRecord } from '../domain/agent-records.ts'
import type { DiscoveredSession, Discovery } from '../domain/discovered-session.ts'
import { isRecord } from '../domain/json.ts'
import { agentEdit, agentStory } from './agent-edit.ts'
import type { FoundEdit } from './find-edits.ts'
import { promptAt, storyOf, type Story } from './story.ts'

export interface EditHunk {
  removed: string[]
  added: string[]
}

export interface EditRecord {
  /** The record of the result. */
  uuid: string | undefined
  toolUseId: string | undefined
  hunks: EditHunk[]
}

/** Reads each edit once for a question. */
export class EditReader {
  readonly #discovery: Pick<Discovery, 'conversation'>
  readonly #placeOf: (path: string, sessionId: string) => Promise<string>
  readonly #edits = new Map<FoundEdit, Promise<EditRecord | undefined>>()
  /** Of sessions of other agents. */
  readonly #conversations = new Map<string, Promise<readonly AgentRecord[]>>()

  /** `placeOf`: where a transcript can be read, if it is not where it was. */
  constructor(
    discovery: Pick<Discovery, 'conversation'>,
    placeOf = (path: string, _sessionId: string): Promise<string> => Promise.resolve(path),
  ) {
    this.#discovery = discovery
    this.#placeOf = placeOf
  }

  /** Undefined if the transcript is gone or was rewritten. */
  read(edit: FoundEdit): Promise<EditRecord | undefined> {
    const known = this.#edits.get(edit) ?? this.#read(edit)
    this.#edits.set(edit, known)
    return known
  }

  async #read(edit: FoundEdit): Promise<EditRecord | undefined> {
    if (edit.agentKind !== 'claude') return agentEdit(await this.#records(edit), edit)
    return readEdit(await this.#placeOf(edit.path, edit.sessionId), edit)
  }

  async story(edit: FoundEdit): Promise<Story> {
    if (edit.agentKind !== 'claude') return agentStory(await this.#records(edit), edit)
    const path = await this.#placeOf(edit.path, edit.sessionId)
    return storyOf(path, edit.offset, (await this.read(edit))?.toolUseId)
  }

  /** The prompt of a session that was the last one at a time (milliseconds). */
  async promptAt({ filePath, sessionId }: DiscoveredSession, time: number): Promise<Story['prompt']> {
    return promptAt(await this.#placeOf(filePath, sessionId), time)
  }

  #records({ sessionId }: FoundEdit): Promise<readonly AgentRecord[]> {
    const known =
      this.#conversations.get(sessionId) ??
      this.#discovery.conversation(sessionId).then(({ records }) => records)
    this.#conversations.set(sessionId, known)
    return known
  }
}

function readEdit(path: string, { offset, kind }: FoundEdit): EditRecord | undefined {
  const record = recordAt(path, offset)
  const message = record?.['message']
  if (!record || !isRecord(message)) return undefined
  const toolUseId = textIn(blocksIn(message['content'])[0]?.['tool_use_id'])
  const result = isRecord(record['toolUseResult']) ? record['toolUseResult'] : {}
  return { uuid: textIn(record['uuid']), toolUseId, hunks: kind === 'shell' ? [] : hunksIn(result) }
}

/** A patch; a new file has none, and all its lines were added. */
function hunksIn(result: Record<string, unknown>): EditHunk[] {
  const patch = Array.isArray(result['structuredPatch']) ? result['structuredPatch'].filter(isRecord) : []
  const hunks = patch.flatMap(({ lines }) => (Array.isArray(lines) ? splitHunk(lines.map(String)) : []))
  if (hunks.length > 0) return hunks
  const [removed, added] = [
    [result['oldString']],
    [result['content'], result['newString'], result['new_source']],
  ].map((texts) => texts.flatMap((text) => (typeof text === 'string' ? text.split('\n') : [])))
  return [{ removed: removed!, added: added! }]
}

/** One hunk of a patch may have several changes, with unchanged lines between them. */
function splitHunk(lines: readonly string[]): EditHunk[] {
  const hunks: EditHunk[] = []
  let isOpen = false
  for (const line of lines) {
    const isChange = line.startsWith('+') || line.startsWith('-')
    if (isChange && !isOpen) hunks.push({ removed: [], added: [] })
    isOpen = isChange
    if (isChange) hunks.at(-1)![line.startsWith('+') ? 'added' : 'removed'].push(line.slice(1))
  }
  return hunks
}
