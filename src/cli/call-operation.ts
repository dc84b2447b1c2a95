// Where a command performs operations: in the gateway if one runs on this state directory, else in this process. The
// output is the same.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'
import type { App } from '../operations/app.ts'
import type { Caller } from '../operations/operation.ts'
import type { Call, OutputOf } from '../rpc/client.ts'
import { openDirectly } from '../rpc/direct-socket.ts'
import type { Environment } from '../store/config-file.ts'
import { gatewayFile } from '../store/paths.ts'
import type { Host } from './host.ts'

export interface OperationClient {
  call: Call
  callByName(name: string, input: Record<string, unknown>): Promise<unknown>
  /** Resolves to a notice for the person, if there is one and a person sees it. */
  close(isSeen?: boolean): Promise<string | undefined>
}

export const operator: Caller = { via: 'cli', scopes: ['admin'], name: 'cli' }

export async function openClient(host: Pick<Host, 'environment' | 'openApp'>): Promise<OperationClient> {
  const gateway = await findGateway(host.environment)
  return gateway ? gatewayClient(host.environment) : localClient(host)
}

export interface GatewayAddress {
  url: string
  token: string | undefined
}

export async function findGateway(environment: Environment): Promise<GatewayAddress | undefined> {
  if (environment.gatewayUrl) {
    // The token of this state directory is sent only to the gateway of this state directory.
    return { url: environment.gatewayUrl, token: environment.gatewayToken }
  }
  // Most commands run without a gateway, so the code that talks to one is loaded only if there is a gateway file.
  if (!existsSync(gatewayFile(environment.stateDir))) return undefined
  const { findRunningGateway } = await import('../store/gateway-file.ts')
  const running = findRunningGateway(environment.stateDir)
  if (!running) return undefined
  const { readGatewayToken } = await import('../store/gateway-tokens.ts')
  return { url: running.url, token: environment.gatewayToken ?? readGatewayToken(environment.stateDir) }
}

/** For a connection that is opened again when it is lost: another program may have the port of a gateway that ended. */
export function connectionTo(environment: Environment, { token }: GatewayAddress) {
  const url = async (): Promise<string | undefined> => {
    const gateway = await findGateway(environment)
    return gateway && `${gateway.url.replace(/^http/, 'ws').replace(/\/$/, '')}/ws`
  }
  return { url, open: openDirectly, token }
}

async function gatewayClient(environment: Environment): Promise<OperationClient> {
  const { callOverHttp } = await import('../rpc/http-call.ts')
  const callByName: OperationClient['callByName'] = async (name, input) => {
    // Looked up for each call: a command may go on for hours, and another program may have the port of a gateway that ended.
    const gateway = await findGateway(environment)
    if (!gateway) throw gatewayNeeded(name)
    return callOverHttp({ ...gateway, session: await sessionFor(name, environment) }, name, input)
  }
  return clientOf(callByName, async (isSeen = false) => {
    const folder = join(environment.stateDir, 'vault')
    if (!isSeen || environment.gatewayUrl || !existsSync(folder)) return undefined
    const { isTold, noticeOnce } = await import('../operations/vault/keep-briefly.ts')
    if (isTold(folder)) return undefined
    // The command itself has succeeded; a vault that cannot be opened is reported by `rockpool doctor`.
    const status = await callByName('vault.status', {}).catch(() => undefined)
    const { enabled = false, bytes = 0, maxBytes = 0 } = (status ?? {}) as Partial<OutputOf<'vault.status'>>
    return enabled ? noticeOnce({ folder, bytes, maxGb: maxBytes / 1e9 }) : undefined
  })
}

/** A session writes mail as itself. Other commands do not need to know who calls. */
async function sessionFor(name: string, environment: Environment): Promise<string | undefined> {
  if (!name.startsWith('mail.')) return undefined
  const { callingSession } = await import('../discovery/calling-session.ts')
  return callingSession(environment)
}

function localClient({ openApp, environment }: Pick<Host, 'openApp' | 'environment'>): OperationClient {
  let app: Promise<App> | undefined
  let usedDiscovery = false
  const callByName: OperationClient['callByName'] = async (name, input) => {
    const { findOperation, unknownOperation } = await import('../operations/all.ts')
    const { performOperation } = await import('../operations/perform-operation.ts')
    const operation = await findOperation(name)
    if (!operation) throw unknownOperation(name)
    if (operation.needsGateway) throw gatewayNeeded(name)
    app ??= openApp({ light: true, withLastConfig: operation.withLastConfig })
    const caller = { ...operator, claudeSession: await sessionFor(name, environment) }
    const output = await performOperation(await app, operation, input, caller)
    usedDiscovery ||= operation.heavyParts?.includes('discovery') ?? false
    return output
  }
  return clientOf(callByName, async (isSeen = false) => {
    const opened = await app
    try {
      return usedDiscovery ? await keepAfterwards(opened!, isSeen) : undefined
    } finally {
      await opened?.close()
    }
  })
}

/** A command that listed sessions keeps those that have changed; the answer is printed already. */
async function keepAfterwards(app: App, isSeen: boolean): Promise<string | undefined> {
  const { keepBriefly } = await import('../operations/vault/keep-briefly.ts')
  return keepBriefly(app, isSeen)
}

function clientOf(
  callByName: OperationClient['callByName'],
  close: OperationClient['close'],
): OperationClient {
  // The output was checked against the schema that its type is made from.
  return { call: callByName as Call, callByName, close }
}

function gatewayNeeded(name: string): RockpoolError {
  return new RockpoolError('unavailable', `${name} works with live sessions, and no gateway runs here.`, {
    hint: 'Start it with `rockpool up` (or `rockpool service install`), then try again.',
  })
}
