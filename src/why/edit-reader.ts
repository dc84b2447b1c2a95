// Reads edits back from where they were made, and the conversation around them: transcripts of Claude Code, sessions of other agents,
// and copies of sessions that only the vault has.
import type { AgentRecord } from '../domain/agent-records.ts'
import type { DiscoveredSession, Discovery } from '../domain/discovered-session.ts'
import { agentEdit, agentStory } from './agent-edit.ts'
import { readEdit, type EditRecord } from './edit-record.ts'
import type { FoundEdit } from './find-edits.ts'
import { promptAt, storyOf, type Story } from './story.ts'

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
