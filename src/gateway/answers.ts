// POST /answers: a press on Allow or Deny in a notification. The device has no token of the gateway; the notification carries a
// signature that is valid for this device, this request and this answer.
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { Caller } from '../operations/operation.ts'
import { parseJson } from '../rpc/frames.ts'
import { deviceOfAnswer } from '../store/device-file.ts'
import type { Auth } from './auth.ts'
import type { Calls } from './calls.ts'
import { readBody } from './http.ts'

const signedAnswer = z.strictObject({
  deviceId: z.string().max(64),
  answer: z.string().regex(/^approve:[\w-]{1,64}:(allow|deny)$/),
  signed: z.string().max(100),
})

export async function receiveAnswer(
  request: IncomingMessage,
  { auth, calls }: { auth: Auth; calls: Calls },
): Promise<unknown> {
  const { data: given } = signedAnswer.safeParse(parseJson(await readBody(request, 4_096)))
  const { answer, name } = auth.admitAnswer(given?.signed, request, () => {
    const device = given && deviceOfAnswer(calls.app.paths.root, given)
    return device && { answer: given.answer, name: device.name }
  })
  const [, id, decision] = answer.split(':')
  const caller: Caller = { via: 'rpc', scopes: ['approve'], name: `device:${name}` }
  await calls.call({ jsonrpc: '2.0', method: 'approvals.answer', params: { id, decision } }, caller)
  return { ok: true }
}
