// What a launch of a coding session can be told.
import { z } from 'zod'
import { agentKinds } from '../../domain/agent.ts'
import type { CodingRequest } from '../../domain/coding-session.ts'
import type { Giver } from '../../domain/giver.ts'
import { nonBlankText, permissionMode } from '../input-fields.ts'
import { machineField } from './coding-row.ts'
import { trimField } from './trim-choice.ts'

export const launchInput = z.strictObject({
  prompt: nonBlankText().describe('The task.'),
  workdir: z
    .string()
    .optional()
    .describe('The repository, or its name in coding.repos; the configured or current directory if absent.'),
  name: z.string().max(60).optional().describe('A name for it; made from the prompt when absent.'),
  label: z.string().optional().describe('Continue the session with this label, or start it.'),
  agent: z.string().optional().describe('The agent that owns it.'),
  agentKind: z
    .enum(agentKinds)
    .optional()
    .describe('The program that works: claude (the default), codex, gemini, opencode or pi.'),
  model: z.string().optional().describe('The model.'),
  thinking: z.string().max(40).optional().describe('How much to think: off, low, medium, high, max.'),
  maxBudgetUsd: z.number().positive().optional().describe('Pause and ask at this many dollars.'),
  systemPrompt: z.string().optional().describe('Text to add to the system prompt.'),
  allowedTools: z.array(z.string()).optional().describe('Tools that the session may use without asking.'),
  permissionMode: permissionMode().describe('How the session asks for permission.'),
  resumeSessionId: z.string().optional().describe('Continue this session: id, name or Claude id.'),
  forkSession: z.boolean().default(false).describe('Fork that session instead of resuming it.'),
  atMessage: z.string().max(200).optional().describe('Fork that session after this message (a uuid).'),
  trim: trimField,
  fresh: z.boolean().default(false).describe('Start a new conversation; do not continue an earlier one.'),
  decision: z.string().optional().describe('The stored decision that led to this launch (`cc select`).'),
  multiTurnDisabled: z.boolean().default(false).describe('End after the first turn.'),
  originChannel: z.string().optional().describe('The chat that gets notifications: channel|target.'),
  machine: machineField,
  despiteReserve: z
    .boolean()
    .default(false)
    .describe('Start also while only the reserve of a usage window is left (coding.reserve).'),
  wait: z.boolean().default(false).describe('Wait until the turn ends, and show its output.'),
})

export interface LaunchInput extends Omit<z.output<typeof launchInput>, 'wait' | 'despiteReserve'> {
  despiteReserve?: boolean
  /** The session ends after this time without activity. */
  timeoutSeconds?: number
  /** A row among the sessions, removed when this session ends. */
  childSessionKey?: string
  spawnDepth?: number
  /** The agent whose session launches it for another agent. */
  launchedBy?: string
  relay?: CodingRequest['relay']
  /** Whose rights hold for this launch. */
  by: Giver
}
