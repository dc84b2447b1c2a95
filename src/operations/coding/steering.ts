// The only path by which messages of callers reach coding sessions. A message decides what a session does with its rights, so one rule
// decides who may send one: a caller that could let a new session do the same without asking. `CodingWorld` has no other path to start,
// continue, resume or move a session.
import { describeRule } from '../../coding/approvals/permission-rules.ts'
import type { CodingPool } from '../../coding/pool.ts'
import { kindOf, type CodingSession } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Giver } from '../../domain/giver.ts'
import { requireAgent } from '../../store/agents.ts'
import type { App } from '../app.ts'
import type { CheckedPool } from './coding-world.ts'
import { refuseDirectory, refuseOtherPrograms, unaskedRight } from './launch-rights.ts'
import { isElsewhere } from './which-machine.ts'

/** For a text of several givers, such as several messages at once, each of them must have the right. */
export function openCheckedPool(app: App, pool: CodingPool, givers: readonly Giver[]): CheckedPool {
  const check = async (session: CodingSession): Promise<void> => {
    for (const giver of givers) await refuseSteering(app, session, giver)
    if (session.sdkSessionId !== undefined) checkConversation(session.sdkSessionId)
  }
  const checkConversation = (sdkSessionId: string): void => {
    // Each of these sessions can be resumed with its own rights and then continues the conversation.
    const runs = app.storage.coding.runsOf(sdkSessionId)
    for (const giver of givers) for (const run of runs) refuseWide(app, run, giver)
  }
  const checked = async (ref: string): Promise<string> => {
    const session = pool.resolve(ref)
    await check(session)
    return session.id
  }
  const checkNative = async (ref: string): Promise<void> => {
    for (const giver of givers) await refuseNative(app, pool, ref, giver)
  }
  return {
    check,
    checkConversation,
    async spawn(request, options) {
      const { name = 'The session', resume } = request
      for (const giver of givers) refuseWide(app, { name, request }, giver)
      if (resume && !resume.fork) checkConversation(resume.sdkSessionId)
      return pool.spawn(request, options)
    },
    respond: async (ref, text, options) => pool.respond(await checked(ref), text, options),
    async resume(ref, prompt, options) {
      const isOurs = app.storage.coding.resolve(ref).length > 0
      if (isOurs) await checked(ref)
      else await checkNative(ref)
      return pool.resume(ref, prompt, options)
    },
    reopen: async (ref) => pool.reopen(await checked(ref)),
    handOver: async (ref, to) => pool.handOver(await checked(ref), to),
  }
}

/** Refuses to give a message to a session that may do more without asking than this giver could let a new session do, or that works
 *  where the giver may start none, or for an agent that does not exist. */
async function refuseSteering(app: App, session: CodingSession, giver: Giver): Promise<void> {
  const { workdir, agentId } = session.request
  // A session on another machine may be of an agent that only that machine has.
  if (!isElsewhere(app, session)) requireAgent(app, agentId)
  await refuseDirectory(app, workdir, giver.agentId)
  refuseWide(app, session, giver)
}

type Wide = Pick<CodingSession, 'name'> & { id?: string; request: Pick<CodingSession['request'], RightField> }
type RightField = 'agentKind' | 'permissionMode' | 'allowedTools' | 'withoutApprove'

function refuseWide(app: App, session: Wide, giver: Giver): void {
  refuseOtherPrograms(kindOf(session), giver)
  const unasked = unaskedRight(app, session.request, giver) ?? ownRule(app, session, giver)
  if (!unasked) return
  throw new RockpoolError(
    'refused',
    `${session.name} has the ${unasked.right}, which this caller cannot give.`,
    { hint: `The owner can send the message, or allow the same to all sessions in ${unasked.setting}.` },
  )
}

/** A permission rule of this session alone. The owner gave it for what the owner asks of the session; or, if a caller that may not
 *  approve launched the session, for what such callers ask. Sessions that the owner launched write to each other for the owner. */
function ownRule({ storage, clock }: App, { id, request }: Wide, giver: Giver): UnaskedRule | undefined {
  if (giver.mayApprove || id === undefined || request.withoutApprove) return undefined
  const writer = giver.codingId === undefined ? undefined : storage.coding.get(giver.codingId)
  if (writer && !writer.request.withoutApprove) return undefined
  const now = clock.now()
  const rule = storage.approvals
    .grants()
    .find(({ codingId, until = Infinity }) => codingId === id && until > now)
  return rule && { right: `rule: ${describeRule(rule)}`, setting: 'a rule for all (`rockpool rules add`)' }
}

type UnaskedRule = ReturnType<typeof unaskedRight>

/** A session that an agent made without Rockpool gets the configured rights when Rockpool continues it. */
async function refuseNative(app: App, pool: CodingPool, ref: string, giver: Giver): Promise<void> {
  const native = await pool.findNative(ref)
  if (!native) return
  if (native.agentId !== undefined) requireAgent(app, native.agentId)
  refuseOtherPrograms(native.agentKind ?? 'claude', giver)
  await refuseDirectory(app, native.repoPath, giver.agentId)
}
