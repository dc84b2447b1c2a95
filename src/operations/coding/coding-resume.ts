// Resumes a coding session, here or on another machine.
import { z } from 'zod'
import { formatOriginChannel } from '../../domain/address.ts'
import { unknownSession } from '../../discovery/filter.ts'
import { newCodingId } from '../../coding/session/names.ts'
import type { ResumeOptions } from '../../coding/session/resume-session.ts'
import { isRunning, kindOf } from '../../domain/coding-session.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Giver } from '../../domain/giver.ts'
import { maySeeCoding } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import { conversationNamed } from './launch-conversation.ts'
import { refuseTrimAt, trimByItself, trimField } from './trim-choice.ts'
import { nonBlankText } from '../input-fields.ts'
import { codingSession, findCoding, machineField } from './coding-row.ts'
import {
  checkProgram,
  refuseBypass,
  refuseDirectory,
  refuseOtherPrograms,
  refuseWider,
} from './launch-rights.ts'
import type { Caller, CommandPlace } from '../operation.ts'
import { giverOf } from '../perform-operation.ts'
import { restoreIfGone } from '../vault/kept-sessions.ts'
import { asSeenBy, moveNotice, placeOfResume, sidesOf } from './which-machine.ts'
import type { Spot } from './which-machine.ts'

export const resumeInput = z.strictObject({
  session: codingSession,
  prompt: nonBlankText().default('Continue where you left off.').describe('The message.'),
  fork: z.boolean().default(false).describe('Work in a copy; leave the earlier session unchanged.'),
  atMessage: z.string().optional().describe('Fork after this message (its uuid).'),
  trim: trimField,
  originChannel: z.string().optional().describe('The chat that gets notifications: channel|target.'),
  machine: machineField,
  wait: z.boolean().default(false).describe('Wait until the turn ends, and show its output.'),
})

type ResumeInput = Omit<z.output<typeof resumeInput>, 'wait'>

export async function resumeCoding(app: App, input: ResumeInput, caller: Caller): Promise<CodingSession> {
  const by = giverOf(caller)
  const door = app.coding().givenBy(by)
  // A session that an agent made without Rockpool gets the configured mode.
  const isKnown = app.storage.coding.resolve(input.session, caller.agentId).length > 0
  const known = isKnown ? findCoding(app, caller, input.session) : undefined
  refuseBypass(known?.request.permissionMode, caller)
  await refuseWider(app, { originChannel: input.originChannel }, caller)
  // Going back to a message in place would remove the later ones.
  const fork = input.fork || input.atMessage !== undefined
  const { atMessage } = input
  refuseTrimAt(input)
  // The whole id of a session that is not ours: a prefix may also fit a session of another agent.
  const ref = known
    ? await ownConversation(app, known, input.session, caller)
    : await nativeNamed(app, input.session, caller)
  const trim = input.trim ?? (fork ? undefined : await trimByItself(app, ref))
  await checkKind(app, known, ref, { ...input, trim }, caller)
  const origin = originOf(caller, input.originChannel)
  const options = { fork, atMessage, trim, origin, viewer: caller.agentId }
  if (!known) {
    checkHere(app, input)
    return door.resume(ref, input.prompt, options)
  }
  await door.check(known)
  const spot = await asSeenBy(caller, () => placeOfResume(app, known, input.machine))
  const all = { ...options, moved: await movedTo(app, known, spot, caller) }
  if (!spot.elsewhere) return door.resume(known.id, input.prompt, all)
  return resumeThere(app, spot.elsewhere.name, { ref: known.id, prompt: input.prompt, options: all, by })
}

const person: Caller = { via: 'cli', scopes: ['admin'] }

/** For a command, before a gateway is started for it: refuses a coding session that does not exist. */
export const refuseUnknownCoding = refuseUnknown(async (app, ref) => findCoding(app, person, ref))

/** The same for a command that also takes sessions that an agent made without Rockpool. */
export const refuseUnknownSession = refuseUnknown(async (app, ref) =>
  app.storage.coding.resolve(ref).length > 0
    ? findCoding(app, person, ref)
    : conversationNamed(app, ref, person),
)

/** `find` throws if there is no such session. */
function refuseUnknown(find: (app: App, ref: string) => Promise<unknown>) {
  return async ({ session }: Record<string, unknown>, { openApp }: CommandPlace): Promise<void> => {
    const app = await openApp()
    try {
      await app.prepare()
      await find(app, String(session))
    } finally {
      await app.close()
    }
  }
}

/** The program of the session must be installed, and support the options; an agent continues only Claude Code. */
async function checkKind(
  app: App,
  known: CodingSession | undefined,
  ref: string,
  { fork, trim, atMessage }: Pick<ResumeInput, 'fork' | 'trim' | 'atMessage'>,
  caller: Caller,
): Promise<void> {
  const native = known ? undefined : await app.coding().pool.findNative(ref, caller.agentId)
  const kind = known ? kindOf(known) : (native?.agentKind ?? 'claude')
  refuseOtherPrograms(kind, giverOf(caller))
  const request = known?.request ?? { permissionMode: 'default' as const }
  checkProgram(app, kind, { ...request, trim, atMessage }, fork)
}

/** Refuses a session of ours whose conversation was continued by a session that the caller may not see. */
export function checkMayContinue(app: App, known: CodingSession, ref: string, { agentId }: Caller): void {
  const { request } = app.storage.coding.latestRun(known.sdkSessionId ?? '') ?? known
  if (!maySeeCoding(request, agentId)) throw unknownSession(ref)
}

async function ownConversation(app: App, known: CodingSession, ref: string, caller: Caller): Promise<string> {
  const { sdkSessionId } = known
  if (sdkSessionId === undefined) return known.id
  checkMayContinue(app, known, ref, caller)
  await restoreIfGone(app, sdkSessionId, caller)
  return sdkSessionId
}

/** The whole id of a session that an agent made without Rockpool. An agent continues it only in a directory that is open to it. */
async function nativeNamed(app: App, ref: string, caller: Caller): Promise<string> {
  const { sdkSessionId: id } = await conversationNamed(app, ref, caller)
  const native = await app.coding().pool.findNative(id, caller.agentId)
  if (native) await refuseDirectory(app, native.repoPath, caller.agentId)
  return id
}

/** If the answer of the other machine is lost, the row tells whether the session runs there. */
async function resumeThere(
  app: App,
  machine: string,
  { ref, prompt, options, by }: { ref: string; prompt: string; options: ResumeOptions; by: Giver },
): Promise<CodingSession> {
  const { machines, pool } = app.coding()
  const id = options.fork ? newCodingId() : ref
  try {
    await machines!.ask(machine, 'resume', { ref, prompt, options: { ...options, id }, by })
  } catch (error) {
    const there = app.storage.coding.get(id)
    if (!there || there.machine !== machine || !isRunning(there)) throw error
  }
  return pool.resolve(id)
}

/** The new directory and a notice for Claude, when the machine is another one than before. */
async function movedTo(
  app: App,
  session: CodingSession,
  spot: Spot,
  caller: Caller,
): Promise<ResumeOptions['moved']> {
  const here = app.coding().machines?.name
  const machine = spot.elsewhere?.name ?? here
  if (machine === undefined || session.machine === undefined || machine === session.machine) return undefined
  const { workdir } = spot
  return { workdir, aside: moveNotice(await sidesOf(app, session, { machine, workdir }, caller)) }
}

/** The transcript of a session that Claude Code made without Rockpool is a file of this machine. */
function checkHere(app: App, { session, machine }: ResumeInput): void {
  const here = app.coding().machines?.name
  if (machine === undefined || machine === here || app.config.machine.labels.includes(machine)) return
  throw new RockpoolError('refused', `${session} is a session of Claude Code on this machine only.`, {
    hint: `Resume it here first, then \`rockpool cc move\` it to ${machine}.`,
  })
}

/** From now on the chat that resumes it gets the notifications; a terminal or a program without a chat changes nothing. */
function originOf(caller: Caller, named: string | undefined): ResumeOptions['origin'] {
  const originChannel = caller.address ? formatOriginChannel(caller.address) : named
  if (originChannel === undefined) return undefined
  const originSessionKey = caller.agentId === undefined ? undefined : caller.sessionKey
  return { originChannel, originThreadId: caller.address?.threadId, originSessionKey }
}
