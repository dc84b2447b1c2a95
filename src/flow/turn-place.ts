// Where a turn works, by the rights of its author: its directory, the files that came with its messages, and what the agent
// is told about its place.
import { buildSystemPrompt, reportSystemPrompt } from '../agent/prompt.ts'
import { ensureSkillSnapshot } from '../agent/skills.ts'
import type { Agent } from '../domain/agent.ts'
import type { Session } from '../domain/session.ts'
import { isShared } from '../rights/rights.ts'
import type { Rights } from '../rights/rights.ts'
import { makeAttachmentFolder, withFiles } from '../store/media/message-files.ts'
import type { WaitingInput } from '../store/work-store.ts'
import type { FoundSession } from './find-session.ts'
import type { TurnParts } from './flow-parts.ts'
import { directoryOf, rightsOfInput } from './turn-rights.ts'

/** The agent's place and skills. The same from turn to turn, so that its process can stay. */
export async function systemPromptOf(
  found: FoundSession,
  {
    agent,
    rights,
    directory,
    isGroup,
  }: { agent: Agent; rights: Rights; directory: string; isGroup: boolean },
  parts: TurnParts,
): Promise<string> {
  const { session, isNew } = found
  const isFirstTurn = isNew || session.entry.systemSent !== true
  const settings = parts.config.agents.list.find(({ id }) => id === agent.id) ?? parts.config.agents.defaults
  const { skillsSnapshot } = await ensureSkillSnapshot({
    sessionEntry: session.entry,
    isFirstTurnInSession: isFirstTurn,
    workspaceDir: agent.workspace,
    ...(settings.skills === undefined ? {} : { skillFilter: settings.skills }),
  })
  found.skillsSnapshot = skillsSnapshot
  const { writesNotes, sharedFiles } = rights
  const readsSkills = rights.files === 'workspace' || isShared(`${agent.workspace}/skills/`, sharedFiles)
  const prompt = buildSystemPrompt({
    agent,
    directory,
    writesNotes,
    isGroup,
    ...(readsSkills ? { skillsPrompt: skillsSnapshot?.prompt } : {}),
    notes: sharedFiles.length === 0 ? [] : [`You may read these, too: ${sharedFiles.join(', ')}.`],
  })
  if (isFirstTurn) found.promptReport = reportSystemPrompt(prompt, skillsSnapshot)
  return prompt
}

/** The inputs with their files where the turn will find them. */
export function inPlace(
  inputs: readonly WaitingInput[],
  agent: Agent,
  parts: TurnParts,
): Promise<WaitingInput[]> {
  const { workspace } = agent
  return Promise.all(
    inputs.map((input) => {
      const session = { agentId: input.agentId, key: input.lane }
      return withFiles(input, { workspace, cwd: directoryOf(session, agent, rightsOfInput(input, parts)) })
    }),
  )
}

/** The directory of the turn is there when this resolves. */
export async function preparePlace(session: Session, agent: Agent, rights: Rights) {
  const { workspace } = agent
  if (rights.files === 'own') await makeAttachmentFolder(workspace, session)
  return { workspace, cwd: directoryOf(session, agent, rights) }
}
