// schedules.add: what is due when, from words. The owner may schedule everything; an agent only for itself, within its rights.
import { z } from 'zod'
import { formatOriginChannel, parseOriginChannel } from '../../domain/address.ts'
import { attempt, RockpoolError } from '../../domain/errors.ts'
import { missedPolicies, overlapPolicies } from '../../domain/schedule.ts'
import type { ScheduledAction, When } from '../../domain/schedule.ts'
import { defaultAgentId } from '../../domain/session-key.ts'
import { isDirectory } from '../../coding/queue/repositories.ts'
import { checkedName } from '../../coding/session/names.ts'
import { callerAuthor } from '../../rights/rights.ts'
import { readWhen, splitWhen } from '../../schedules/read-when.ts'
import { nextDue } from '../../schedules/times.ts'
import { requireAgent } from '../../store/agents.ts'
import type { App } from '../app.ts'
import { conversationNamed } from '../coding/launch-conversation.ts'
import { refuseDirectory, refuseOtherPrograms, refuseWider } from '../coding/launch-rights.ts'
import { nonBlankText } from '../input-fields.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'
import { giverOf } from '../perform-operation.ts'
import { refuseChat } from '../turns/agent-chats.ts'
import { chatRightsOf, namedStrangers } from './schedule-refusal.ts'
import { noticeChange, refused, rowOf, scheduleClock, scheduleRow } from './schedule-row.ts'

/** An agent cannot fill the store. */
const mostOfAgent = 50

const addInput = z.strictObject({
  when: z
    .string()
    .optional()
    .describe(
      '"weekdays 9:00", "every 15 minutes", "tomorrow 18:00", "in 2 hours", or cron. Absent: the text begins with it.',
    ),
  text: nonBlankText().describe('The task of the agent or the coding session, or the message.'),
  do: z
    .enum(['turn', 'coding', 'message', 'wake'])
    .default('turn')
    .describe('Start a turn of an agent, a coding session, send a message to a chat, or wake an agent.'),
  name: z.string().min(1).max(60).optional().describe('A name; made from the text when absent.'),
  agent: z.string().optional().describe('The agent.'),
  sessionKey: z
    .string()
    .optional()
    .describe("The agent's session for the turn; its main session when absent."),
  workdir: z.string().optional().describe('The repository of the coding session.'),
  session: z.string().optional().describe('Continue this coding session; start a fresh one when absent.'),
  model: z.string().optional().describe('The model of the coding session.'),
  to: z.string().optional().describe('The chat of the message: channel|target.'),
  tell: z
    .string()
    .optional()
    .describe('The chat that learns of late, failed and skipped runs: channel|target.'),
  timeZone: z.string().optional().describe('The time zone of `when`; the configured one when absent.'),
  jitterSeconds: z.int().min(0).max(86_400).default(0).describe('Begin each run up to so much later.'),
  notBefore: z.string().optional().describe('No run before this time: 2026-12-01T09:00:00Z.'),
  notAfter: z.string().optional().describe('No run after this time.'),
  missed: z
    .enum(missedPolicies)
    .default('once')
    .describe('Times that were missed (asleep, no gateway): skip them, run once, or run all.'),
  overlap: z
    .enum(overlapPolicies)
    .default('skip')
    .describe('If the earlier run still works: skip the later run, queue it, or replace the earlier run.'),
  runBudgetUsd: z.number().positive().optional().describe('The budget of each run, in dollars.'),
  totalBudgetUsd: z
    .number()
    .positive()
    .optional()
    .describe('Pause the schedule when its runs have cost so much.'),
})
type AddInput = z.output<typeof addInput>

export const addSchedule = operation({
  name: 'schedules.add',
  description: 'Add a schedule: start a turn, a coding session or a message at times. Shows the next five.',
  input: addInput,
  output: scheduleRow,
  scope: 'write',
  changesState: true,
  forAgents: true,
  heavyParts: ['coding'],
  command: {
    positional: ['when', 'text'],
    joinsRest: true,
    paths: ['workdir'],
    currentDirectory: ({ do: what }) => (what === 'coding' ? 'workdir' : undefined),
    startsBackgroundWork: () => true,
    examples: [
      'rockpool schedules add "weekdays 9:00" "Summarize my open pull requests"',
      'rockpool schedules add "daily 2:30" "Run the tests and fix what fails" --do coding --workdir .',
      'rockpool schedules add "tomorrow 8:00" "Stand-up at nine" --do message --to "telegram|123456789"',
    ],
  },
  async run(app, input, caller) {
    const { storage } = app
    const agentId = caller.agentId ?? input.agent ?? defaultAgentId(app.config)
    requireAgent(app, agentId)
    const now = scheduleClock(app).now()
    checkCodingFields(input)
    const { when, text } = whenAndText(app, input, now)
    const action = actionOf(app, { ...input, text }, caller)
    await refuseBeyondAgent(app, input, action, caller)
    checkDirectory(app, action)
    const times = {
      when,
      notBefore: readMoment('notBefore', input.notBefore),
      notAfter: readMoment('notAfter', input.notAfter),
    }
    const first = nextDue(times, now)
    if (first === undefined)
      throw new RockpoolError('input-invalid', 'This schedule is never due.', {
        hint: 'Look at when, notBefore and notAfter.',
      })
    const here = caller.address && formatOriginChannel(caller.address)
    await storage.people.ready()
    const { jitterSeconds, missed, overlap, runBudgetUsd, totalBudgetUsd } = input
    const added = {
      name: input.name === undefined ? nameFor(app, text, agentId) : checkedName(input.name),
      agentId,
      byAgent: caller.agentId === undefined ? undefined : true,
      withoutApprove: giverOf(caller).mayApprove ? undefined : true,
      author: callerAuthor(caller),
      action,
      ...times,
      jitterSeconds,
      missed,
      overlap,
      runBudgetUsd:
        runBudgetUsd ?? (caller.agentId === undefined ? undefined : app.config.coding.defaultBudgetUsd),
      totalBudgetUsd,
      addedIn: here,
      addedWith: tokenOf(caller),
      tell: input.tell ?? here,
      strangers: caller.agentId === undefined ? namedStrangers(chatRightsOf(app), action) : undefined,
      createdAt: now,
      nextDue: first,
    }
    const schedule = await storage.schedules.add(
      added,
      caller.agentId === undefined ? undefined : checkNumber,
    )
    await noticeChange(app, schedule)
    return rowOf(app, schedule)
  },
})

/** Undefined for the operator, people and agents. */
function tokenOf({ via, name = '' }: Caller): string | undefined {
  return via === 'rpc' ? /^token:(.+)$/s.exec(name)?.[1] : undefined
}

function whenAndText(app: App, input: AddInput, now: number): { when: When; text: string } {
  const timeZone = input.timeZone ?? app.config.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  if (!isTimeZone(timeZone))
    throw new RockpoolError('input-invalid', `${JSON.stringify(timeZone.slice(0, 80))} is not a time zone.`, {
      hint: 'Examples: Europe/Berlin, America/New_York, UTC.',
    })
  if (input.when !== undefined) return { when: readWhen(input.when, { now, timeZone }), text: input.text }
  const { when, rest } = splitWhen(input.text, { now, timeZone })
  return { when, text: rest }
}

function isTimeZone(timeZone: string): boolean {
  return attempt(() => new Intl.DateTimeFormat('en', { timeZone })) !== undefined
}

/** Without a chat or a session of its own, the schedule acts where it was added. */
function actionOf(
  app: App,
  { do: kind, text, session, model, ...input }: AddInput,
  { address, sessionKey }: Caller,
): ScheduledAction {
  const here = address && formatOriginChannel(address)
  if (kind === 'wake') return { kind, text, sessionKey: input.sessionKey ?? sessionKey }
  if (kind === 'turn') {
    const isHere = input.sessionKey === undefined || input.sessionKey === sessionKey
    return { kind, text, sessionKey: input.sessionKey ?? sessionKey, to: isHere ? here : undefined }
  }
  if (kind === 'message')
    return { kind, text, to: required(input.to ?? here, 'to', 'The chat: --to "telegram|123456789".') }
  const { repos, defaultWorkdir } = app.config.coding
  const { workdir: named = '' } = input
  const workdir = Object.hasOwn(repos, named) ? repos[named] : (input.workdir ?? defaultWorkdir)
  return { kind, text, session, model, workdir: required(workdir, 'workdir', 'The repository: --workdir .') }
}

function checkCodingFields(input: AddInput): void {
  const field = (['workdir', 'session', 'model'] as const).find((name) => input[name] !== undefined)
  if (input.do === 'coding' || field === undefined) return
  throw new RockpoolError(
    'input-invalid',
    `${field} is for a coding session, and this schedule starts none.`,
    {
      hint: 'Add --do coding to start one.',
    },
  )
}

function required(value: string | undefined, field: string, hint: string): string {
  if (value !== undefined && value !== '') return value
  throw new RockpoolError('input-invalid', `${field} is missing.`, { hint })
}

/** Where several machines run schedules, another one may have the directory. */
function checkDirectory({ storage }: App, action: ScheduledAction): void {
  if (action.kind !== 'coding' || storage.cluster || isDirectory(action.workdir)) return
  throw new RockpoolError('not-found', `There is no directory ${JSON.stringify(action.workdir)}.`, {
    hint: 'Give the path of a repository with --workdir.',
  })
}

/** An agent schedules only for itself: its sessions, its directories, its chats, its budget. */
async function refuseBeyondAgent(
  app: App,
  input: AddInput,
  action: ScheduledAction,
  caller: Caller,
): Promise<void> {
  const { agentId } = caller
  for (const chat of [input.tell, action.kind === 'message' ? action.to : undefined]) {
    const address = chat === undefined ? undefined : parseOriginChannel(chat)
    if (chat !== undefined && !address)
      throw new RockpoolError('input-invalid', `${chat.slice(0, 80)} is not a chat.`, {
        hint: 'channel|target',
      })
    if (address) await refuseChat(app, address, caller)
  }
  if (action.kind === 'coding') await refuseSession(app, action.session, caller)
  if (agentId === undefined) return
  if (input.agent !== undefined && input.agent !== agentId) throw refused('schedule for another agent')
  const key = 'sessionKey' in action ? action.sessionKey : undefined
  if (key !== undefined && !key.startsWith(`agent:${agentId}:`))
    throw refused('use a session of another agent')
  await refuseWider(app, { maxBudgetUsd: input.runBudgetUsd }, caller)
  if (action.kind === 'coding') await refuseDirectory(app, action.workdir, agentId)
}

function checkNumber(ofAgent: number): void {
  if (ofAgent >= mostOfAgent) throw refused(`have more than ${mostOfAgent} schedules`)
}

/** The session that the runs would continue. Asked again at each run, because rights may have changed, and for a caller that runs the
 *  schedule of somebody else: a name can mean another session to the one who added it (`addedBy`). */
export async function refuseSession(
  app: App,
  session: string | undefined,
  caller: Caller,
  addedBy: Caller = caller,
): Promise<void> {
  const giver = giverOf(caller)
  if (session === undefined || giver.mayApprove) return
  for (const reader of new Set([caller, addedBy])) {
    const { sdkSessionId, kind } = await conversationNamed(app, session, reader)
    refuseOtherPrograms(kind, giver)
    app.coding().givenBy(giver).checkConversation(sdkSessionId)
  }
}

function readMoment(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const moment = Date.parse(text)
  if (!Number.isNaN(moment)) return moment
  throw new RockpoolError('input-invalid', `${field} is no time: ${text.slice(0, 40)}`, {
    hint: '2026-12-01T09:00:00Z',
  })
}

/** The first words; with a number when the agent has a schedule of that name. */
function nameFor(app: App, text: string, agentId: string): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['schedule']
  const name = words.slice(0, 4).join('-').slice(0, 40)
  const isFree = (one: string): boolean =>
    !app.storage.schedules.resolve(one).some((known) => known.name === one && known.agentId === agentId)
  for (let count = 2; ; count++) {
    const candidate = count === 2 && isFree(name) ? name : `${name}-${count}`
    if (isFree(candidate)) return candidate
  }
}
