// What Claude's process and everything that it starts may see of our environment. An allow-list: Rockpool's own secrets
// and whatever else happens to be set stay here, and no file of a workspace adds anything.
import type { Environment } from '../store/config-file.ts'
import type { Credential } from './credentials.ts'

const ordinary = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TERM', 'TZ']

/** How to reach the API from here. */
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

/** Variables that inject code into a process; never passed on. */
const dangerous =
  /^(NODE_OPTIONS|LD_|DYLD_|BASH_ENV$|ENV$|PYTHONSTARTUP$|PYTHONPATH$|PERL5|RUBYOPT$|GIT_(SSH|EXTERNAL|EXEC|CONFIG|DIR)|ROCKPOOL_)/

export interface ChildSettings {
  credential: Credential | undefined
  /** A directory of our own: Claude leaves sockets and task output in its temporary directory. */
  temporaryDirectory: string
  maxRetries: number
  passEnvironment: readonly string[]
  version: string
}

export function childEnvironment(environment: Environment, settings: ChildSettings): Record<string, string> {
  const asked = settings.passEnvironment.filter((name) => !dangerous.test(name))
  const child: Record<string, string> = {}
  for (const name of [...ordinary, ...network, ...asked]) {
    const value = environment.variables[name]
    if (value) child[name] = value
  }
  if (environment.claudeConfigDir) child['CLAUDE_CONFIG_DIR'] = environment.claudeConfigDir
  return {
    ...child,
    HOME: environment.home,
    ...settings.credential?.variables,
    TMPDIR: settings.temporaryDirectory,
    CLAUDE_AGENT_SDK_CLIENT_APP: `rockpool/${settings.version}`,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_MAX_RETRIES: String(settings.maxRetries),
    // The stream then reports when a turn is really over and when a person must answer.
    CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
    CLAUDE_CODE_STARTUP_FAILURE_RESULTS: '1',
  }
}
