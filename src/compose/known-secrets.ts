// The secrets that we know by value, so that they can be taken out of whatever is kept or shown.
import type { App } from '../operations/app.ts'
import { channelSecrets } from '../store/channel-tokens.ts'
import { readGatewayToken, readHookToken } from '../store/gateway-tokens.ts'

/** `ANTHROPIC_API_KEY`, `GITHUB_TOKEN`, `PGPASSWORD`. A short value would strike ordinary words. */
const secretVariable = /(KEY|TOKEN|SECRET|PASSWORD)$/
const shortestOfVariable = 16

type Needs = Pick<App, 'environment' | 'config' | 'paths'>

export function knownSecrets(app: Needs): Array<[name: string, value: string]> {
  const { environment, config } = app
  const found: Array<[string, string | undefined]> = [
    ['gateway-token', readGatewayToken(environment.stateDir)],
    ['hook-token', readHookToken(environment.stateDir)],
    ...Object.entries(environment.variables).filter(
      ([name, value = '']) => secretVariable.test(name) && value.length >= shortestOfVariable,
    ),
    ...secretsIn(config.channels),
    ...tokensOf(app),
    ['provider-key', config.memory.meaning.apiKey],
    ['database-password', passwordIn(environment.variables['ROCKPOOL_DATABASE_URL'])],
  ]
  return found.filter((each): each is [string, string] => each[1] !== undefined && each[1] !== '')
}

function passwordIn(url: string | undefined): string | undefined {
  const { password } = URL.parse(url ?? '') ?? {}
  return password ? decodeURIComponent(password) : undefined
}

/** In files, in the environment, or kept by `channels add`. */
function tokensOf({ environment, config, paths }: Needs): Array<[string, string]> {
  try {
    return channelSecrets(config.channels, environment, paths).map(({ name, value }) => [name, value])
  } catch {
    // A token file that cannot be read: its channel says so when it starts.
    return []
  }
}

/** Tokens stand in the configuration under names that say so. */
function secretsIn(value: unknown): Array<[string, string]> {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]): Array<[string, string]> =>
    typeof inner === 'string' && /token$|secret$|password$/i.test(name) ? [[name, inner]] : secretsIn(inner),
  )
}
