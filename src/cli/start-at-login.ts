// `rockpool service`: starts the gateway at login, as a systemd user unit on Linux and as a launch agent on macOS.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import type { Host, LocalCommand } from './host.ts'
import { prose, safe, visible } from './print.ts'
import type { Page } from './print.ts'

const execute = promisify(execFile)
const nothing = z.strictObject({})

export const commands: LocalCommand[] = [
  {
    name: 'service.install',
    description: 'Start the gateway at login, and now.',
    input: z.strictObject({
      start: z.boolean().default(true).describe('Start it now.'),
    }),
    command: { examples: ['rockpool service install'] },
    run: (host, input) => installService(host, input['start'] === true),
    print: printChange,
  },
  {
    name: 'service.status',
    description: 'Show whether the service is installed and runs.',
    input: nothing,
    command: { examples: ['rockpool service status --json'] },
    run: (host) => serviceStatus(host),
    print: printStatus,
  },
  {
    name: 'service.logs',
    description: "Show the output of the service in the system's log.",
    input: z.strictObject({ limit: z.int().min(1).max(10_000).default(100).describe('How many lines.') }),
    command: { examples: ['rockpool service logs --limit 20'] },
    run: async (host, input) => {
      const text = await runCommand(host, systemOf(host).log(Number(input['limit'])))
      return { lines: text.split('\n').filter((line) => line !== '') }
    },
    print: (output) => visible((output as { lines: string[] }).lines.join('\n')),
  },
  {
    name: 'service.uninstall',
    description: 'Stop the service and remove its file. Sessions and settings stay.',
    input: nothing,
    command: { examples: ['rockpool service uninstall'] },
    run: (host) => uninstall(host),
    print: printChange,
  },
]

interface System {
  file: string
  text: string
  start: string[][]
  stop: string[][]
  query: string[]
  log: (limit: number) => string[]
}

/** The service manager of this machine. */
function systemOf(host: Host): System {
  const { home, stateDir } = host.environment
  const command = [process.execPath, host.program, 'up']
  if (process.platform === 'darwin') {
    const file = join(home, 'Library', 'LaunchAgents', 'dev.rockpool.gateway.plist')
    const target = `gui/${process.getuid?.() ?? 0}`
    return {
      file,
      text: launchAgent(command, stateDir),
      start: [['launchctl', 'bootstrap', target, file]],
      stop: [['launchctl', 'bootout', `${target}/dev.rockpool.gateway`]],
      query: ['launchctl', 'print', `${target}/dev.rockpool.gateway`],
      log: (limit) => ['tail', '-n', String(limit), join(stateDir, 'logs', 'service.log')],
    }
  }
  const systemctl = (...args: string[]): string[] => ['systemctl', '--user', ...args]
  return {
    file: join(home, '.config', 'systemd', 'user', 'rockpool.service'),
    text: systemdUnit(command, stateDir),
    start: [systemctl('daemon-reload'), systemctl('enable', '--now', 'rockpool.service')],
    stop: [systemctl('disable', '--now', 'rockpool.service'), systemctl('daemon-reload')],
    query: systemctl('is-active', 'rockpool.service'),
    log: (limit) => ['journalctl', '--user', '-u', 'rockpool.service', '-n', String(limit), '--no-pager'],
  }
}

/** The gateway waits 20 s for running turns, so systemd waits longer. `Delegate` lets the gateway put each Claude process
 *  into a cgroup. */
export function systemdUnit(command: string[], stateDir: string): string {
  return `[Unit]
Description=Rockpool, the session layer for Claude agents
After=network-online.target

[Service]
Type=simple
ExecStart=${command.map(systemdQuoted).join(' ')}
Environment=${systemdQuoted(`ROCKPOOL_STATE_DIR=${stateDir}`)}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2 78
TimeoutStopSec=40
KillMode=mixed
Delegate=yes
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`
}

/** Spaces, quotes, `$` and `%` have a meaning for systemd. */
function systemdQuoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('$', '$$$$').replaceAll('%', '%%')}"`
}

export function launchAgent(command: string[], stateDir: string): string {
  const text = (value: string): string => `<string>${xmlEscaped(value)}</string>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${text('dev.rockpool.gateway')}
  <key>ProgramArguments</key><array>${command.map(text).join('')}</array>
  <key>EnvironmentVariables</key><dict><key>ROCKPOOL_STATE_DIR</key>${text(stateDir)}</dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>40</integer>
  <key>Umask</key><integer>63</integer>
  <key>StandardErrorPath</key>${text(join(stateDir, 'logs', 'service.log'))}
</dict>
</plist>
`
}

function xmlEscaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

interface ServiceChange {
  installed: boolean
  changed: boolean
  started?: boolean
  file: string
  hint?: string
  problems?: string[]
}

export async function installService(host: Host, start: boolean): Promise<ServiceChange> {
  const { file, text, start: commands } = systemOf(host)
  const changed = !existsSync(file) || readFileSync(file, 'utf8') !== text
  if (changed) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  if (start) for (const command of commands) await runCommand(host, command)
  const isLinux = process.platform === 'linux'
  const hint = isLinux ? 'To keep it running after you log out: loginctl enable-linger' : undefined
  return { installed: true, changed, started: start, file, hint }
}

async function uninstall(host: Host): Promise<ServiceChange> {
  const { file, stop } = systemOf(host)
  if (!existsSync(file)) return { installed: false, changed: false, file }
  const problems: string[] = []
  for (const command of stop) {
    await runCommand(host, command).catch((error: unknown) =>
      problems.push(error instanceof Error ? error.message : String(error)),
    )
  }
  rmSync(file)
  return { installed: false, changed: true, file, problems: problems.length > 0 ? problems : undefined }
}

function printChange(output: unknown, page: Page): string {
  const { installed, changed, started, file, hint, problems = [] } = output as ServiceChange
  const removed = changed ? 'The service is stopped and its file removed.' : 'There is no service here.'
  const added = safe`The service is installed (${file})${started ? ' and started' : ''}.`
  const lines = [installed ? added : removed, ...(hint ? [hint] : []), ...problems.map((text) => `! ${text}`)]
  return lines.map((line) => prose(line, page)).join('\n')
}

export async function serviceStatus(
  host: Host,
): Promise<{ installed: boolean; running: boolean; file: string }> {
  const system = systemOf(host)
  const installed = existsSync(system.file)
  const running = await runCommand(host, system.query).then(
    () => true,
    () => false,
  )
  return { installed, running, file: system.file }
}

function printStatus(output: unknown): string {
  const { installed, running, file } = output as Awaited<ReturnType<typeof serviceStatus>>
  if (!installed) return 'The service is not installed. `rockpool service install` installs it.'
  const state = running ? 'runs' : 'does not run; `rockpool service logs` may show why'
  return safe`The service is installed (${file}) and ${state}.`
}

async function runCommand(host: Host, [program, ...args]: string[]): Promise<string> {
  try {
    const { PATH, HOME, XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS } = host.environment.variables
    const env = { PATH, HOME, XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS }
    return (await execute(program!, args, { env, timeout: 30_000, maxBuffer: 8 << 20 })).stdout
  } catch (error) {
    const detail = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    throw new RockpoolError(
      'unavailable',
      `\`${program} ${args.join(' ')}\` failed${detail ? `: ${detail}` : ''}.`,
      {
        hint: 'The file is installed; run that command yourself, or start `rockpool up` in another way.',
        cause: error,
      },
    )
  }
}
