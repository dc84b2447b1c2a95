// Where a command's question goes: to the gateway when one runs on this state directory, else to the same
// operation in this process. The answer is the same.
import { existsSync } from 'node:fs'
import { RockpoolError } from '../domain/errors.ts'
import type { App } from '../operations/app.ts'
import type { Caller, Operation } from '../operations/operation.ts'
import type { Environment } from '../store/config-file.ts'
import { gatewayFile } from '../store/paths.ts'

export interface Asker {
  ask(operation: Pick<Operation, 'name' | 'needsGateway'>, input: Record<string, unknown>): Promise<unknown>
  close(): Promise<void>
}

export interface AskerParts {
  environment: Environment
  /** `light`: without the heavy parts; the caller awaits `prepare` itself. */
  openApp(options?: { light?: boolean }): Promise<App>
}

const operator: Caller = { via: 'cli', scopes: ['admin'], name: 'cli' }

export async function openAsker(parts: AskerParts): Promise<Asker> {
  const gateway = await findGateway(parts.environment)
  return gateway ? askGateway(gateway) : askOurselves(parts)
}

export interface GatewayAddress {
  url: string
  token: string | undefined
}

export async function findGateway(environment: Environment): Promise<GatewayAddress | undefined> {
  if (environment.gatewayUrl) {
    // A gateway named by hand gets the token named by hand: ours goes to our own gateway only.
    return { url: environment.gatewayUrl, token: environment.gatewayToken }
  }
  // Most commands run where no gateway does; they need not load what talks to one.
  if (!existsSync(gatewayFile(environment.stateDir))) return undefined
  const { findRunningGateway } = await import('../store/gateway-file.ts')
  const running = findRunningGateway(environment.stateDir)
  if (!running) return undefined
  const { readGatewayToken } = await import('../store/gateway-tokens.ts')
  return { url: running.url, token: environment.gatewayToken ?? readGatewayToken(environment.stateDir) }
}

async function askGateway(gateway: GatewayAddress): Promise<Asker> {
  const { callOverHttp } = await import('../rpc/http-call.ts')
  return {
    ask: (operation, input) => callOverHttp(gateway, operation.name, input),
    close: async () => {},
  }
}

function askOurselves(parts: AskerParts): Asker {
  let app: Promise<App> | undefined
  return {
    async ask(operation, input) {
      if (operation.needsGateway) throw gatewayNeeded(operation.name)
      app ??= parts.openApp({ light: true })
      const { perform } = await import('../operations/perform.ts')
      return perform(await app, operation.name, input, operator)
    },
    async close() {
      await (await app)?.close()
    },
  }
}

function gatewayNeeded(name: string): RockpoolError {
  return new RockpoolError('unavailable', `${name} works with live sessions, and no gateway runs here.`, {
    hint: 'Start it with `rockpool up` (or `rockpool service install`), then try again.',
  })
}
