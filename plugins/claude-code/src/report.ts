// Sends a hook event to the gateway and returns the answer for Claude Code. If anything fails, the session continues as if there
// were no hook.
import { Agent, request } from 'node:http'
import { readClaudeHookFile } from '../../../src/store/claude-hook-file.ts'

/** No opinion. Claude Code would add a line to the transcript, and one for the model, for an empty answer. */
const noOpinion = '{"suppressOutput":true}'
/** A gateway answers within milliseconds. After an answer that took longer no event is sent for a second, after the next one for two
 *  seconds, and so on. */
const patienceMs = 1_000
const shortestPauseMs = 1_000
const longestPauseMs = 16_000
const retryMs = 1_000
/** A person waits for the answer to a command; it is sent also if events are not. */
const commandPatienceMs = 10_000

const agent = new Agent({ keepAlive: true })
const {
  ROCKPOOL_STATE_DIR: stateDir = '',
  ROCKPOOL_PROCESS_OF: runByRockpool,
  CLAUDE_CODE_ENTRYPOINT: entrypoint = '',
} = process.env
let pauseMs = shortestPauseMs
let pauseEndsAt = 0
/** Counts the events, to notice that a session no longer waits at a permission dialog. */
let events = 0

/** The fields are texts, because Claude Code fills them into a template. `signal` fires when the session no longer waits. */
export async function reportHook(fields: Record<string, string>, signal: AbortSignal): Promise<string> {
  // Rockpool needs no reports of the sessions that it runs itself.
  if (runByRockpool || !isMeant(fields)) return noOpinion
  const answer = await answerTo(fields, signal)
  // After `/compact` Claude Code shows what a hook said.
  const isCompaction = fields['hook_event_name']?.endsWith('Compact')
  return isCompaction && answer === noOpinion ? '' : answer
}

function answerTo(fields: Record<string, string>, signal: AbortSignal): Promise<string> {
  const input = fields['tool_input']
  const body = JSON.stringify({ ...fields, tool_input: input ? (JSON.parse(input) as unknown) : undefined })
  const mine = ++events
  if (fields['hook_event_name'] === 'PermissionRequest')
    return askUntilAnswered(body, signal, () => events === mine && !signal.aborted)
  if (fields['hook_event_name'] === 'UserPromptExpansion')
    return send(body, AbortSignal.timeout(commandPatienceMs)).catch(() => noOpinion)
  return sendEvent(body)
}

async function sendEvent(body: string): Promise<string> {
  if (Date.now() < pauseEndsAt) return noOpinion
  const late = AbortSignal.timeout(patienceMs)
  try {
    const answer = await send(body, late)
    pauseMs = shortestPauseMs
    return answer
  } catch {
    if (!late.aborted) return noOpinion
    pauseEndsAt = Date.now() + pauseMs
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    return noOpinion
  }
}

const noGateway = { text: 'The gateway of Rockpool does not run: `rockpool up` starts it.', isError: true }
const toolPatienceMs = 30_000

/** Calls a tool for the session. */
export async function callTool(
  tool: string,
  input: unknown,
  session = '',
): Promise<{ text: string; isError: boolean }> {
  const body = JSON.stringify({ session_id: session, cwd: process.cwd(), tool, input })
  const answer = await send(body, AbortSignal.timeout(toolPatienceMs), '/claude-tools').catch(() => noOpinion)
  return answer === noOpinion ? noGateway : (JSON.parse(answer) as typeof noGateway)
}

/** Commands of other plugins are no business of ours. */
function isMeant({ hook_event_name: name, prompt = '' }: Record<string, string>): boolean {
  return name !== 'UserPromptExpansion' || prompt.startsWith('/rockpool:')
}

/** The dialog stays open in the terminal meanwhile. A restarted gateway is asked again. */
async function askUntilAnswered(
  body: string,
  signal: AbortSignal,
  isWaiting: () => boolean,
): Promise<string> {
  while (isWaiting()) {
    try {
      return await send(body, signal)
    } catch {
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
  return noOpinion
}

/** Rejects if there is no gateway, or if it does not answer. */
async function send(body: string, signal: AbortSignal, path = '/claude-hooks'): Promise<string> {
  const gateway = readClaudeHookFile(stateDir)
  if (!gateway) throw new Error('no gateway')
  // Throws if the process is gone: another program may have its port.
  process.kill(gateway.pid, 0)
  const headers = { authorization: `Bearer ${gateway.token}`, 'claude-entrypoint': entrypoint }
  return new Promise((resolve, reject) => {
    const sending = request(
      new URL(path, gateway.url),
      { method: 'POST', agent, headers, signal },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve(response.statusCode === 200 ? text : noOpinion))
        response.on('error', reject)
      },
    )
    sending.on('error', reject)
    sending.end(body)
  })
}
