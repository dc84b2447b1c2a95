// Calls to Rockpool's gateway over HTTP. Nothing about it is kept in this module, because 2026.9.6 loads the module twice: once for
// the service and once for the tools. Both read the same files.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RockpoolError } from '../../../src/domain/errors.ts'
import { parseRecord } from '../../../src/domain/json.ts'
import { fromRpcError } from '../../../src/rpc/frames.ts'
import type { RpcError } from '../../../src/rpc/frames.ts'
import { postDirectly, readAll } from '../../../src/rpc/http-call.ts'
import { findRunningGateway } from '../../../src/store/gateway-file.ts'
import type { OpenClawApi } from './openclaw-api.ts'

/** `agent` for what a model asks for: it cannot approve. `person` for commands of people that OpenClaw has authorised. */
type TokenOf = 'agent' | 'person'

interface TokenFile {
  /** Rockpool's state directory, for a gateway on this machine. */
  stateDir?: string
  /** For a gateway on another machine. */
  url?: string
  agentToken: string
  personToken: string
}

interface Shared {
  /** Why the service is not connected, for `claude-code.health`. */
  problem?: string
  isConnected?: boolean
}

const places = globalThis as unknown as Record<symbol, Shared | undefined>
export const shared = (places[Symbol.for('rockpool-openclaw')] ??= {})

interface Call {
  method: string
  params?: Record<string, unknown>
  /** OpenClaw's name of the agent; not needed for calls that belong to no agent. */
  agentId?: string
  as: TokenOf
  signal?: AbortSignal
}

/** Throws a RockpoolError, with a hint where there is a remedy. */
export async function callRockpool(api: OpenClawApi, call: Call): Promise<unknown> {
  const url = rockpoolUrl(api)
  const { method, params = {}, agentId, signal } = call
  const headers = {
    authorization: `Bearer ${tokenFor(api, call.as)}`,
    ...(agentId === undefined ? {} : { 'rockpool-agent': rockpoolAgent(agentId) }),
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { status, text } = await post(`${url}/rpc`, { headers, body, signal }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw noAnswer(url, error)
  })
  const answer = parseRecord(text) as { result?: unknown; error?: RpcError } | undefined
  if (!answer) throw noAnswer(url, `HTTP status ${status}`)
  if (answer.error || status !== 200) throw fromRpcError(answer.error ?? (answer as unknown as RpcError))
  return answer.result
}

async function post(
  url: string,
  request: Parameters<typeof postDirectly>[1],
): Promise<{ status: number | undefined; text: string }> {
  const response = await postDirectly(new URL(url), request)
  return { status: response.statusCode, text: await readAll(response) }
}

/** The agents of OpenClaw have names of their own in Rockpool, so that they never meet Rockpool's agents. */
function rockpoolAgent(agentId: string): string {
  return `openclaw-${agentId}`
}

/** The configured address, or the one that the installation names. A gateway on this machine is found by its process, so that no token
 *  is sent to another program that took the port of a gateway that ended. */
export function rockpoolUrl(api: OpenClawApi): string {
  const { stateDir, url } = readTokenFile(api)
  const known = api.pluginConfig?.url ?? (stateDir === undefined ? url : findRunningGateway(stateDir)?.url)
  if (known === undefined) throw unavailable(`Rockpool's gateway of ${stateDir} does not run.`)
  return known.replace(/\/+$/, '')
}

export function tokenFor(api: OpenClawApi, as: TokenOf): string {
  const file = readTokenFile(api)
  return as === 'agent' ? file.agentToken : file.personToken
}

/** Read for each call, so that new tokens need no restart. */
function readTokenFile(api: OpenClawApi): TokenFile {
  const path =
    api.pluginConfig?.tokenFile ?? join(api.runtime.state.resolveStateDir(), 'rockpool-plugin.json')
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as TokenFile
  } catch (cause) {
    throw new RockpoolError('unauthorized', `The tokens for Rockpool cannot be read from ${path}.`, {
      hint: 'Run `rockpool openclaw install`.',
      cause,
    })
  }
}

function noAnswer(url: string, cause: unknown): RockpoolError {
  return unavailable(`Rockpool's gateway at ${url} does not answer.`, cause)
}

function unavailable(message: string, cause?: unknown): RockpoolError {
  return new RockpoolError('unavailable', message, {
    hint: 'Start it with `rockpool up`, or look at `rockpool openclaw status`.',
    cause,
  })
}
