// Claude's program, and the environment of its process. The environment is an allow-list: Claude and the processes that it starts
// see none of Rockpool's own secrets, and no file of a workspace adds anything. Loads no other module: commands use it.
import { createRequire } from 'node:module'
import type { Environment } from '../store/config-file.ts'
import type { Credential } from './credentials.ts'

const ordinary = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TERM', 'TZ']

/** How to reach the API. */
const network = [
  'ANTHROPIC_BASE_URL',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'CLAUDE_CODE_CLIENT_CERT',
  'CLAUDE_CODE_CLIENT_KEY',
]

/** Variables that can inject code into a process are never passed on. */
const dangerous =
  /^(NODE_OPTIONS|LD_|DYLD_|BASH_ENV$|ENV$|PYTHONSTARTUP$|PYTHONPATH$|PERL5|RUBYOPT$|GIT_(SSH|EXTERNAL|EXEC|CONFIG|DIR)|ROCKPOOL_)/

interface ChildSettings {
  credential: Credential | undefined
  /** Claude leaves sockets and task output in its temporary directory, so it gets one of our own. */
  temporaryDirectory: string
  maxRetries: number
  passEnvironment: readonly string[]
  version: string
}

/** The variables that every agent gets: the ordinary ones, those for the network, and those with these names. */
export function passedVariables(environment: Environment, names: readonly string[]): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const name of [...ordinary, ...network, ...names.filter((name) => !dangerous.test(name))]) {
    const value = environment.variables[name]
    if (value) passed[name] = value
  }
  return { ...passed, HOME: environment.home }
}

export function childEnvironment(environment: Environment, settings: ChildSettings): Record<string, string> {
  const child = passedVariables(environment, settings.passEnvironment)
  if (environment.claudeConfigDir) child['CLAUDE_CONFIG_DIR'] = environment.claudeConfigDir
  return {
    ...child,
    ...settings.credential?.variables,
    TMPDIR: settings.temporaryDirectory,
    CLAUDE_AGENT_SDK_CLIENT_APP: `rockpool/${settings.version}`,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_MAX_RETRIES: String(settings.maxRetries),
    // With it the stream reports when a turn is really over and when a person must answer.
    CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
    CLAUDE_CODE_STARTUP_FAILURE_RESULTS: '1',
  }
}

/** The Claude Code program that comes with the Agent SDK. Undefined where the SDK has none for this platform; then the user's
 *  own `claude` must be on the PATH. */
export function bundledClaude(): string | undefined {
  const require = createRequire(import.meta.url)
  const platform = `${process.platform}-${process.arch}`
  for (const name of [platform, `${platform}-musl`]) {
    try {
      return require.resolve(`@anthropic-ai/claude-agent-sdk-${name}/claude`)
    } catch {
      // Not installed for this platform; the next name may be.
    }
  }
  return undefined
}
