// What a resume does: find out where the conversation goes on, here or on another machine, and begin it there.
import { formatOriginChannel } from '../../domain/address.ts'
import { newCodingId } from '../../coding/session/names.ts'
import type { ResumeOptions } from '../../coding/pool.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { conversationNamed, refuseBypass } from './coding-launch.ts'
import { findCoding } from './coding-row.ts'
import { refuseDirectory, refuseWider } from './launch-rights.ts'
import { asideOf, sidesOf } from './moved-session.ts'
import type { Caller } from '../operation.ts'
import { placeOfResume } from './which-machine.ts'
import type { Spot } from './which-machine.ts'

export interface ResumeInput {
  session: string
  prompt: string
  fork: boolean
  atMessage?: string
  originChannel?: string
  machine?: string
}

export async function resumeCoding(app: App, input: ResumeInput, caller: Caller): Promise<CodingSession> {
  const { pool } = app.coding()
  // One that Claude Code made without us gets the configured mode.
  const known =
    app.storage.coding.resolve(input.session).length > 0 ? findCoding(app, caller, input.session) : undefined
  refuseBypass(known?.request.permissionMode, caller)
  await refuseWider(app, { originChannel: input.originChannel }, caller)
  // Going back to a message in place would take away what came after it.
  const fork = input.fork || input.atMessage !== undefined
  const { atMessage } = input
  const options = { fork, atMessage, origin: originOf(caller, input.originChannel) }
  if (!known) {
    checkHere(app, input)
    if (caller.agentId !== undefined) await checkNative(app, input.session, caller)
    return pool.resume(input.session, input.prompt, options)
  }
  refuseDirectory(app, known.request.workdir, caller.agentId)
  const spot = await placeOfResume(app, known, input.machine)
  const all = { ...options, moved: await movedTo(app, known, spot) }
  if (!spot.elsewhere) return pool.resume(known.id, input.prompt, all)
  return resumeThere(app, spot.elsewhere.name, known.id, input.prompt, all)
}

/** An agent continues native sessions that no other agent owns, in directories that are open to it. */
async function checkNative(app: App, ref: string, caller: Caller): Promise<void> {
  await conversationNamed(app, ref, caller)
  const native = await app.coding().pool.findNative(ref)
  if (native) refuseDirectory(app, native.repoPath, caller.agentId)
}

/** The id is ours, so that we find what was begun although the answer was lost. */
async function resumeThere(
  app: App,
  machine: string,
  ref: string,
  prompt: string,
  options: ResumeOptions,
): Promise<CodingSession> {
  const { machines, pool } = app.coding()
  const id = newCodingId()
  try {
    await machines!.ask(machine, 'resume', { ref, prompt, options: { ...options, id } })
  } catch (error) {
    if (!app.storage.coding.get(id)) throw error
  }
  return pool.resolve(id)
}

/** Its place and what Claude is told of it, when that is another one than before. */
async function movedTo(app: App, session: CodingSession, spot: Spot): Promise<ResumeOptions['moved']> {
  const here = app.coding().machines?.name
  const machine = spot.elsewhere?.name ?? here
  if (machine === undefined || session.machine === undefined || machine === session.machine) return undefined
  const { workdir } = spot
  return { workdir, aside: asideOf(await sidesOf(app, session, { machine, workdir })) }
}

/** The transcript of one that Claude Code made without us is a file of this machine. */
function checkHere(app: App, { session, machine }: ResumeInput): void {
  const here = app.coding().machines?.name
  if (machine === undefined || machine === here || app.config.machine.labels.includes(machine)) return
  throw new RockpoolError('refused', `${session} is a session of Claude Code on this machine only.`, {
    hint: `Resume it here first, then \`rockpool cc move\` it to ${machine}.`,
  })
}

/** The chat that resumes it is told from now on; a terminal or a program that names none leaves it as it was. */
function originOf(caller: Caller, named: string | undefined): ResumeOptions['origin'] {
  const originChannel = caller.address ? formatOriginChannel(caller.address) : named
  if (originChannel === undefined) return undefined
  const originSessionKey = caller.agentId === undefined ? undefined : caller.sessionKey
  return { originChannel, originThreadId: caller.address?.threadId, originSessionKey }
}
