// Sends a hook event to the gateway and returns the answer for Claude Code. Whatever goes wrong, the session continues as if there
// were no hook.
import { Agent, request } from 'node:http'
import { readClaudeHookFile } from '../../../src/store/claude-hook-file.ts'

/** No opinion. An empty answer would be worth a line in the transcript, and one to the model. */
const noOpinion = '{"suppressOutput":true}'
/** A gateway answers within milliseconds; one that does not is left alone for a while. */
const patienceMs = 1_000
const pauseMs = 10_000
const retryMs = 1_000

const agent = new Agent({ keepAlive: true })
const {
  ROCKPOOL_STATE_DIR: stateDir = '',
  ROCKPOOL_PROCESS_OF: runByRockpool,
  CLAUDE_CODE_ENTRYPOINT: entrypoint = '',
} = process.env
let silentUntil = 0
/** Counts the events, to notice that a session no longer waits at a permission dialog. */
let events = 0

/** The fields are texts, because Claude Code fills them into a template. */
export async function reportHook(fields: Record<string, string>): Promise<string> {
  // Rockpool knows what the sessions do that it runs itself.
  if (runByRockpool) return noOpinion
  const body = JSON.stringify({
    ...fields,
    tool_input: fields['tool_input'] ? JSON.parse(fields['tool_input']) : undefined,
  })
  const isQuestion = fields['hook_event_name'] === 'PermissionRequest'
  const mine = ++events
  return isQuestion
    ? await askUntilAnswered(body, () => events === mine)
    : await send(body, patienceMs).catch(() => noOpinion)
}

/** The dialog stays open in the terminal meanwhile. A restarted gateway is asked again. */
async function askUntilAnswered(body: string, isWaiting: () => boolean): Promise<string> {
  while (isWaiting()) {
    try {
      return await send(body, 0)
    } catch {
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
  return noOpinion
}

/** Rejects if there is no gateway, or if it does not answer. */
async function send(body: string, timeoutMs: number): Promise<string> {
  const gateway = readClaudeHookFile(stateDir)
  if (!gateway || Date.now() < silentUntil) throw new Error('no gateway')
  // Throws if the process is gone: another program may have its port.
  process.kill(gateway.pid, 0)
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${gateway.token}`, 'claude-entrypoint': entrypoint }
    const sending = request(gateway.url, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve(response.statusCode === 200 ? text : noOpinion))
      response.on('error', reject)
    })
    sending.on('error', reject)
    sending.setTimeout(timeoutMs, () => {
      silentUntil = Date.now() + pauseMs
      sending.destroy(new Error('no answer'))
    })
    sending.end(body)
  })
}
