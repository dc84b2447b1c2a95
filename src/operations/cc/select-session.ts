// Which session should take the next task: explain the choice, show past decisions, test the choice against history.
import { z } from 'zod'
import { agentKinds } from '../../domain/agent.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { decision, sessionSelection, type Decision } from '../../domain/selection.ts'
import { evaluateSelection, evaluation } from '../../discovery/evaluate.ts'
import { realDirectory } from '../../discovery/project-status.ts'
import type { App } from '../app.ts'
import { operation, type Caller } from '../operation.ts'
import { repoOf } from './asked-repository.ts'
import { flag, nameField } from '../input-fields.ts'

export const operations = [
  operation({
    name: 'cc.select',
    description:
      'Explain which session would take a task, without starting it; or test the choice against history.',
    input: z.strictObject({
      task: z.string().max(100_000).optional().describe('The task.'),
      repo: z.string().optional().describe('The repository; the current directory when not given.'),
      agent: z.string().optional().describe('Choose among the sessions of this agent.'),
      agentKind: z
        .enum(agentKinds)
        .optional()
        .describe('The program that takes the task: its sessions can be chosen. Claude Code when absent.'),
      label: z.string().optional().describe('Choose only the session with this label.'),
      budget: z.number().positive().optional().describe('What the task may cost, in dollars.'),
      model: z.boolean().default(true).describe('Ask the small model how related the tasks are.'),
      store: z.boolean().default(true).describe('Store the decision for `cc why`.'),
      eval: flag("Replay this machine's history instead, and count correct choices."),
    }),
    output: z.union([sessionSelection.extend({ decisionId: z.string().optional() }), evaluation]),
    scope: 'read',
    isCostly: true,
    command: {
      positional: ['task'],
      joinsRest: true,
      paths: ['repo'],
      currentDirectory: (input) => (input['eval'] === true ? undefined : 'repo'),
      examples: [
        'rockpool cc select "fix the login form"',
        'rockpool cc select "fix the login form" --repo ~/code/shop --json',
        'rockpool cc select "fix the login form" --agent-kind codex',
        'rockpool cc select --eval',
      ],
    },
    async run(app, input, caller) {
      const { task = '', label, budget, agentKind } = input
      if (input.eval && task !== '')
        throw new RockpoolError('input-invalid', '--eval replays the history and takes no task.', {
          hint: 'Leave out the task, or leave out --eval to see which session would take the task.',
        })
      if (input.eval) return evaluate(app, input, caller)
      if (task.trim() === '' && label === undefined)
        throw new RockpoolError('input-invalid', 'task is missing.', {
          hint: 'Say what is to be done: `rockpool cc select "fix the login form"`.',
        })
      const agentId = caller.agentId ?? input.agent
      const { selection, store } = await app.coding().choice.propose({
        task,
        repo: await repoOf(app, input.repo, caller),
        askModel: input.model,
        agentId,
        agentKind,
        label,
        maxBudgetUsd: budget,
      })
      return { ...selection, decisionId: input.store ? await store() : undefined }
    },
  }),
  operation({
    name: 'cc.why',
    description: 'Show why a session was chosen, or not: the decisions about it, newest first.',
    input: z.strictObject({
      id: nameField().describe(
        'A session id or its beginning, the name of a coding session, or a decision id.',
      ),
      limit: z.int().min(1).max(100).default(5).describe('How many decisions.'),
    }),
    output: z.object({ decisions: z.array(decision) }),
    scope: 'read',
    command: { positional: ['id'], examples: ['rockpool cc why 1a2b3c4d'] },
    async run(app, { id, limit }, caller) {
      const mine = ({ agentId }: { agentId?: string }): boolean =>
        caller.agentId === undefined || caller.agentId === agentId
      const decisions = decisionsAbout(app, id, limit).filter(mine)
      if (decisions.length > 0) return { decisions }
      throw new RockpoolError('not-found', `No decision was made about ${JSON.stringify(id)}.`, {
        hint: 'Decisions are kept for sessions that `cc select` or a launch weighed.',
      })
    },
  }),
]

/** By the id of a decision or a session; for a coding session also by its name or Claude's id. */
function decisionsAbout(app: App, ref: string, limit: number): Decision[] {
  const coding = app.storage.coding
    .list()
    .filter(({ name, sdkSessionId }) => name === ref || sdkSessionId?.startsWith(ref))
  const found = [ref, ...coding.map((session) => session.id)].flatMap((one) =>
    app.storage.decisions.find(one, limit),
  )
  const once = new Map(found.map((decision) => [decision.id, decision]))
  return [...once.values()].sort((a, b) => b.at - a.at).slice(0, limit)
}

async function evaluate(app: App, input: { repo?: string | undefined }, caller: Caller) {
  const { agentId } = caller
  // Everything that it counts, notes on files included, comes from sessions that the caller may read.
  const repoPath = input.repo === undefined ? undefined : await directoryOf(app, input.repo, caller)
  const threshold = app.coding().choice.settings(agentId).resumeThreshold
  await app.search().refresh()
  const { find } = app.coding().choice.sources()
  return evaluateSelection(app.discovery(), { threshold, repoPath, agentId, find })
}

/** An agent names only directories that are open to it. */
async function directoryOf(app: App, repo: string, caller: Caller): Promise<string> {
  return caller.agentId === undefined ? realDirectory(repo) : repoOf(app, repo, caller)
}
