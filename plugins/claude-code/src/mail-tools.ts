// The mail tools of a terminal session. They call the gateway in the name of the session: it writes as itself, never as the
// owner, and receives only its own mail.
import { callOverHttp } from '../../../src/rpc/http-call.ts'
import { findRunningGateway } from '../../../src/store/gateway-file.ts'
import { readGatewayToken } from '../../../src/store/gateway-tokens.ts'

const { ROCKPOOL_STATE_DIR: stateDir = '', CLAUDE_CODE_SESSION_ID: firstSession = '' } = process.env

const text = { type: 'string' }

/** Short, because every session has them in its context. */
export const mailTools = [
  {
    name: 'mail_send',
    description: 'Send a message to another session (name or id), or to owner.',
    inputSchema: {
      type: 'object',
      properties: { to: text, text, replyTo: text },
      required: ['to', 'text'],
    },
  },
  {
    name: 'mail_inbox',
    description: 'Receive the messages for this session.',
    inputSchema: { type: 'object', properties: {} },
  },
]

const operations: Readonly<Record<string, string>> = { mail_send: 'mail.send', mail_inbox: 'mail.inbox' }

export function isMailTool(name: string | undefined): name is string {
  return name !== undefined && Object.hasOwn(operations, name)
}

/** `session`: Claude's id now. It changes with `/clear`, and this process stays. */
export async function callMailTool(
  name: string,
  input: Record<string, unknown>,
  session = firstSession,
): Promise<{ text: string; isError: boolean }> {
  try {
    // This token may do everything, so it is not sent to a program that took the port of a gateway that died.
    const gateway = findRunningGateway(stateDir)
    const token = readGatewayToken(stateDir)
    if (!gateway || !token) throw new Error('The gateway of Rockpool does not run: `rockpool up` starts it.')
    const output = (await callOverHttp(
      { url: gateway.url, token, session },
      operations[name]!,
      input,
    )) as Record<string, unknown>
    return { text: name === 'mail_inbox' ? String(output['text']) : receiptOf(output), isError: false }
  } catch (error) {
    return { text: error instanceof Error ? error.message : String(error), isError: true }
  }
}

function receiptOf({ id, state, recipientName, recipient }: Record<string, unknown>): string {
  return `${String(state)}: message ${String(id)} to ${String(recipientName)} (${String(recipient)})`
}
