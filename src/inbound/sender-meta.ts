// Who said it: in groups a line `[from: Alice (+1234567890)]` follows the text, so that the agent can tell people apart.
import type { MsgContext } from '../domain/msg-context.ts'
import { normalizeChatType } from '../domain/msg-context.ts'
import { oneLine } from './normalize.ts'

export function formatInboundBodyWithSenderMeta(params: { body: string; ctx: MsgContext }): string {
  const { body, ctx } = params
  return alreadySays(body, ctx) ? body : withSenderLine(body, ctx)
}

/** The line is added whatever the text says: for text from outside, which could imitate it. */
export function withSenderLine(body: string, ctx: MsgContext): string {
  const chatType = normalizeChatType(ctx.ChatType)
  if (body.trim() === '' || !chatType || chatType === 'direct') return body
  const label = resolveSenderLabel(ctx)
  return label ? `${body}\n[from: ${label}]` : body
}

/** SenderName > SenderUsername > SenderTag > SenderE164 > SenderId; a name is followed by the number or id, because
 *  anybody can call himself anything. */
export function resolveSenderLabel(ctx: MsgContext): string | undefined {
  const display = firstFilled(ctx.SenderName, ctx.SenderUsername, ctx.SenderTag)
  const id = firstFilled(ctx.SenderE164, ctx.SenderId)
  if (display && id && display !== id) return `${display} (${id})`
  return display ?? id
}

function alreadySays(body: string, ctx: MsgContext): boolean {
  if (/(^|\n)\[from:/i.test(body)) return true
  const names = [
    ctx.SenderName,
    ctx.SenderUsername,
    ctx.SenderTag,
    ctx.SenderE164,
    ctx.SenderId,
    resolveSenderLabel(ctx),
  ]
  // The envelope of group history: `[WhatsApp 120363@g.us 2026-01-13T07:47Z] Alice: …`.
  const said = /(?:^|\n)\[[^\]\n]+\] ([^\n:]{1,128}(?::[^\n:]{1,128})??): /.exec(body)?.[1]
  return said !== undefined && names.some((name) => name?.trim() === said)
}

function firstFilled(...values: Array<string | undefined>): string | undefined {
  for (const value of values) {
    const clean = oneLine(value ?? '', 100)
    if (clean !== '') return clean
  }
  return undefined
}
