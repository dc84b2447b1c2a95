// Finds a message that was sent to a terminal session in the transcript of that session. Only the transcript tells whether an
// answer to a hook reached the model: the session may have stopped waiting for it.
import { readForeignEnd } from '../store/disk/foreign-file.ts'

/** `answered`: the model has seen the message, because it has said something since. `recorded`: Claude Code has it, for the next
 *  request to the model. `absent`: it did not arrive. */
type MailTrace = 'answered' | 'recorded' | 'absent'

/** A session writes less than this between a message and the next look. */
const endBytes = 16 * 1024 * 1024

/** Undefined if the transcript cannot be read, which proves nothing. */
export async function readTraces(transcript: string): Promise<((mailId: string) => MailTrace) | undefined> {
  // Fails if the session has no transcript yet.
  const bytes = await readForeignEnd(transcript, endBytes).catch(() => undefined)
  return bytes && ((mailId) => traceIn(bytes, mailId))
}

function traceIn(transcript: Buffer, mailId: string): MailTrace {
  let trace: MailTrace = 'absent'
  for (let at = transcript.indexOf(mailId); at >= 0; at = transcript.indexOf(mailId, at + mailId.length)) {
    trace = 'recorded'
    // A message in the queue of Claude Code is not part of the request that runs.
    if (!lineAround(transcript, at).startsWith('{"type":"queue-operation"'))
      return hasAnswerAfter(transcript, at) ? 'answered' : 'recorded'
  }
  return trace
}

function hasAnswerAfter(transcript: Buffer, from: number): boolean {
  for (let at = from; at >= 0;) {
    at = transcript.indexOf('"type":"assistant"', at + 1)
    // Claude Code records an error of the API as an answer.
    if (at >= 0 && !lineAround(transcript, at).includes('"isApiErrorMessage":true')) return true
  }
  return false
}

function lineAround(transcript: Buffer, at: number): string {
  const end = transcript.indexOf('\n', at)
  return transcript.toString('latin1', transcript.lastIndexOf('\n', at) + 1, end < 0 ? undefined : end)
}
