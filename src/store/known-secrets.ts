// The secrets that this process knows by value, so that they can be removed from texts that are stored or shown.
import { attempt } from '../domain/errors.ts'
import type { Config } from '../domain/config.ts'
import { channelSecrets } from './channel-tokens.ts'
import type { Environment } from './config-file.ts'
import { readGatewayToken, readHookToken } from './gateway-tokens.ts'
import type { StatePaths } from './paths.ts'

/** `ANTHROPIC_API_KEY`, `GITHUB_TOKEN`, `PGPASSWORD`. Short values are ignored, because they also occur in ordinary text. */
const secretVariable = /(KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE)$/
const shortestSecret = 16

interface Needs {
  environment: Environment
  config: Config
  paths: StatePaths
}

export function knownSecrets(app: Needs): Array<[name: string, value: string]> {
  const { environment, config } = app
  const found: Array<[string, string | undefined]> = [
    // A file that cannot be read is reported by the doctor; no text can hold what is in it.
    ['gateway-token', attempt(() => readGatewayToken(environment.stateDir))],
    ['hook-token', attempt(() => readHookToken(environment.stateDir))],
    ...Object.entries(environment.variables).filter(
      ([name, value = '']) => secretVariable.test(name) && value.length >= shortestSecret,
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

/** Tokens from files, from the environment, or stored by `channels add`. */
function tokensOf({ environment, config, paths }: Needs): Array<[string, string]> {
  // If a token file cannot be read, the channel reports this when it starts.
  return attempt(
    () => channelSecrets(config.channels, environment, paths).map(({ name, value }) => [name, value]),
    [],
  )
}

/** Values in the configuration whose names end in token, secret or password. */
function secretsIn(value: unknown): Array<[string, string]> {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]): Array<[string, string]> =>
    typeof inner === 'string' && /token$|secret$|password$/i.test(name) ? [[name, inner]] : secretsIn(inner),
  )
}
