// What coding sessions said and did: asked for, or streamed into a chat.
import { z } from 'zod'
import { durationOf, formatOutput } from '../../coding/listing.ts'
import { formatBlocks, formatDuration } from '../../coding/session/names.ts'
import { unfinishedBlock } from '../../coding/session/output.ts'
import { withoutOriginMarker } from '../../coding/session/origin.ts'
import { channelOf, findCoding } from './coding-row.ts'
import { refuseWider } from './launch-rights.ts'
import type { Operation } from '../operation.ts'
import { operation } from '../operation.ts'

export const ref = z.string().min(1).describe('Id, name, Claude id, or the beginning of an id.')

const output = operation({
  name: 'coding.output',
  description: 'Show what a session said and did.',
  input: z.strictObject({
    session: ref,
    lines: z.number().int().min(1).default(50).describe('How many of the last blocks.'),
    full: z.boolean().default(false).describe('Everything.'),
    after: z.number().int().min(0).optional().describe('Only what came after this number (`lastSeq`).'),
  }),
  output: z.object({
    id: z.string(),
    name: z.string(),
    status: z.string(),
    lifecycle: z.string(),
    costUsd: z.number(),
    durationMs: z.number(),
    duration: z.string(),
    lines: z.array(z.string()),
    lineCount: z.number(),
    lastSeq: z.number(),
    result: z.string(),
  }),
  scope: 'read',
  redactOutput: true,
  forAgents: true,
  command: {
    positional: ['session'],
    nextInput: ({ session }, last) => ({ session, after: last['lastSeq'] }),
    examples: ['rockpool cc output fix-login-bug --lines 20', 'rockpool cc output fix-login-bug --follow'],
  },
  async run(app, input, caller) {
    const { id } = findCoding(app, caller, input.session)
    const { pool } = app.coding()
    const { session, blocks: last } = pool.output(id, input.full ? 1_000_000 : input.lines)
    const blocks = input.after === undefined ? last : app.storage.coding.outputAfter(id, input.after)
    const lastSeq = blocks.at(-1)?.seq ?? input.after ?? session.lastSeq
    const { name, status, lifecycle, costUsd } = session
    const durationMs = durationOf(session, app.clock.now())
    const shown = input.after === undefined ? [...blocks, ...unfinishedBlock(session)] : blocks
    const lines = shown.map((block) =>
      block.kind === 'prompt' ? `> ${withoutOriginMarker(block.text)}` : block.text,
    )
    return {
      id,
      name,
      status,
      lifecycle,
      costUsd,
      lastSeq,
      durationMs,
      duration: formatDuration(durationMs),
      lines,
      lineCount: lines.length,
      result:
        input.after === undefined ? formatOutput(session, blocks, app.clock.now()) : formatBlocks(blocks),
    }
  },
})

const foreground = operation({
  name: 'coding.foreground',
  description: 'Stream a session into this chat, after what the chat has missed.',
  input: z.strictObject({
    session: ref,
    lines: z.number().int().min(1).default(30).describe('How much of what was said last.'),
    channel: z.string().optional().describe('The chat: channel|target. The one that asks unless given.'),
  }),
  output: z.object({ id: z.string(), name: z.string(), missed: z.string(), lastSeq: z.number() }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['session'],
    examples: ['rockpool cc fg fix-login-bug --channel "telegram|501234567"'],
  },
  async run(app, input, caller) {
    const { id } = findCoding(app, caller, input.session)
    // With a chat of its own, a caller cannot name another one.
    if (!caller.address) await refuseWider(app, { originChannel: input.channel }, caller)
    const watching = await app.coding().pool.foreground(id, channelOf(caller, input.channel), input.lines)
    const { session, blocks } = watching
    const { name, lastSeq } = session
    return { id, name, lastSeq, missed: formatOutput(session, blocks, app.clock.now()) }
  },
})

const background = operation({
  name: 'coding.background',
  description: 'Stop streaming a session, or all of them, into this chat.',
  input: z.strictObject({
    session: ref.optional(),
    channel: z.string().optional().describe('The chat: channel|target. The one that asks unless given.'),
  }),
  output: z.object({ ids: z.array(z.string()) }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['session'],
    examples: ['rockpool cc bg --channel "telegram|501234567"'],
  },
  async run(app, input, caller) {
    const id = input.session === undefined ? undefined : findCoding(app, caller, input.session).id
    return { ids: await app.coding().pool.background(channelOf(caller, input.channel), id) }
  },
})

export const watching: Operation[] = [output, foreground, background]
