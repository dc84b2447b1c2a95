// Where a turn works, by the rights of its author: its directory, the files of its messages, and its system prompt.
import { buildSystemPrompt, reportSystemPrompt } from '../agent/prompt.ts'
import { skillSnapshot } from '../agent/skills.ts'
import type { Agent } from '../domain/agent.ts'
import type { ChatType, Media } from '../domain/message.ts'
import type { Session, SessionSkillSnapshot, SessionSystemPromptReport } from '../domain/session.ts'
import { readMessage } from '../inbound/message-text.ts'
import type { MessageText } from '../inbound/message-text.ts'
import { isShared } from '../rights/rights.ts'
import type { Rights } from '../rights/rights.ts'
import type { FoundSession } from '../sessions/find-session.ts'
import { withCopiedFiles } from '../store/media/media-files.ts'
import type { WaitingInput } from '../store/work-store.ts'
import type { TurnParts } from './flow-parts.ts'
import { directoryOf, rightsOfInput } from './turn-rights.ts'

/** An input as a turn needs it: its text read, its files copied to where the agent can read them. */
export interface TurnInput extends WaitingInput {
  text: MessageText
  /** The files as they were received; the agent is shown pictures from here. */
  received: readonly Media[]
}

export interface TurnPlace {
  workspace: string
  /** The working directory of the agent. */
  cwd: string
}

export async function prepareInputs(
  inputs: readonly WaitingInput[],
  agent: Agent,
  parts: TurnParts,
): Promise<TurnInput[]> {
  if (!inputs.some(hasFiles)) return inputs.map((input) => withText(input, [], parts))
  const { workspace } = agent
  return Promise.all(
    inputs.map((input) => {
      const session = { agentId: input.agentId, key: input.lane }
      const cwd = directoryOf(session, agent, rightsOfInput(input, parts))
      return prepareInput(input, { workspace, cwd }, parts)
    }),
  )
}

export async function prepareInput(
  input: WaitingInput,
  place: TurnPlace,
  parts: TurnParts,
): Promise<TurnInput> {
  if (!hasFiles(input)) return withText(input, [], parts)
  const fetched = await withFetchedFiles(input, parts)
  return withText(await withCopiedFiles(fetched, place), fetched.message.media, parts)
}

function hasFiles({ message }: WaitingInput): boolean {
  return message.media.length > 0
}

function withText(input: WaitingInput, received: readonly Media[], parts: TurnParts): TurnInput {
  const { message, turnOptions } = input
  const text = turnOptions?.internal
    ? { forAgent: message.text, forCommands: '', untrusted: [] }
    : readMessage(message, parts.mentionsFor(message))
  return { ...input, text, received }
}

/** Another machine may have received the files; they are copied to this one. */
async function withFetchedFiles(input: WaitingInput, { files }: TurnParts): Promise<WaitingInput> {
  const { message } = input
  if (!files) return input
  const paths = await files.bring(message.media.map(({ path }) => path))
  const media = message.media.map((file, index) => ({ ...file, path: paths[index]! }))
  return { ...input, message: { ...message, media } }
}

export function placeOf(session: Session, agent: Agent, rights: Rights): TurnPlace {
  return { workspace: agent.workspace, cwd: directoryOf(session, agent, rights) }
}

export interface SystemPrompt {
  text: string
  /** The agent's skills in this turn. */
  skillsSnapshot?: SessionSkillSnapshot
  /** Of the session's first turn only. */
  report?: Pick<SessionSystemPromptReport, 'source' | 'systemPrompt' | 'skills'>
}

/** Tells the agent its place and its skills. The same from turn to turn, so that its process can stay. */
export function systemPromptOf(
  turn: { found: FoundSession; agent: Agent; rights: Rights; place: TurnPlace; chatType: ChatType },
  parts: TurnParts,
): SystemPrompt {
  const { found, agent, rights, place } = turn
  const { session, isNew } = found
  const isFirstTurnInSession = isNew || session.entry.systemSent !== true
  const settings = parts.config.agents.list.find(({ id }) => id === agent.id) ?? parts.config.agents.defaults
  const { skillsSnapshot } = skillSnapshot({
    sessionEntry: session.entry,
    isFirstTurnInSession,
    workspaceDir: agent.workspace,
    skillFilter: settings.skills,
  })
  const { writesNotes, sharedFiles } = rights
  const readsSkills = rights.files === 'workspace' || isShared(`${agent.workspace}/skills/`, sharedFiles)
  const text = buildSystemPrompt({
    agent,
    directory: place.cwd,
    writesNotes,
    isGroup: turn.chatType !== 'direct',
    skillsPrompt: readsSkills ? skillsSnapshot?.prompt : undefined,
    notes: sharedFiles.length === 0 ? [] : [`You may read these, too: ${sharedFiles.join(', ')}.`],
  })
  const report = isFirstTurnInSession ? reportSystemPrompt(text, skillsSnapshot) : undefined
  return { text, skillsSnapshot, report }
}
