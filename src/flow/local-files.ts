// Files of messages and replies are where the machine has them that took the message in or composed the reply. The one that
// takes the turn, or sends the reply, has them brought here first.
import type { Delivery } from '../domain/reply.ts'
import type { WaitingInput } from '../store/work-store.ts'
import type { FlowParts } from './flow-parts.ts'

type Parts = Pick<FlowParts, 'files'>

export async function withFilesHere(input: WaitingInput, { files }: Parts): Promise<WaitingInput> {
  const { message } = input
  if (!files || message.media.length === 0) return input
  const paths = await files.bring(message.media.map(({ path }) => path))
  return {
    ...input,
    message: { ...message, media: message.media.map((file, n) => ({ ...file, path: paths[n]! })) },
  }
}

export async function replyWithFilesHere(delivery: Delivery, { files }: Parts): Promise<Delivery> {
  const { reply } = delivery
  if (!files || !reply.media?.length) return delivery
  return { ...delivery, reply: { ...reply, media: await files.bring(reply.media) } }
}
