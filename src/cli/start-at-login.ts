// `rockpool service`: the gateway as a service of the person's own, started at log-in. A systemd user unit on Linux,
// a launch agent on macOS.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import type { Host, LocalCommand } from './local-command.ts'

const run = promisify(execFile)
const nothing = z.strictObject({})

export const commands: LocalCommand[] = [
  {
    name: 'service.install',
    description: 'Start the gateway at every log-in, and now.',
    input: z.strictObject({
      start: z.boolean().default(true).describe('Start it now.'),
    }),
    command: { examples: ['rockpool service install'] },
    run: (host, input) => installService(host, input['start'] === true),
  },
  {
    name: 'service.status',
    description: 'Say whether the service is installed and runs.',
    input: nothing,
    command: { examples: ['rockpool service status --json'] },
    run: (host) => serviceStatus(host),
  },
  {
    name: 'service.logs',
    description: "Show what the service wrote to the system's log.",
    input: z.strictObject({ limit: z.int().min(1).max(10_000).default(100).describe('How many lines.') }),
    command: { examples: ['rockpool service logs --limit 20'] },
    run: (host, input, json) => logs(host, Number(input['limit']), json),
  },
  {
    name: 'service.uninstall',
    description: 'Stop the service and remove its file. Sessions and settings stay.',
    input: nothing,
    command: { examples: ['rockpool service uninstall'] },
    run: (host) => uninstall(host),
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

/** How this machine keeps services. */
function systemOf(host: Host): System {
  const { home, stateDir } = host.environment
  const command = [process.execPath, join(import.meta.dirname, programFromHere()), 'up']
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

/** bin/rockpool.js, seen from src/cli/ or from dist/parts/: both are two below the package. */
function programFromHere(): string {
  return join('..', '..', 'bin', 'rockpool.js')
}

/** The gateway is given 20 s to end what runs; systemd waits longer than that. With Delegate the gateway may give each of
 *  Claude's processes a cgroup of its own. */
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

/** Spaces, quotes, `$` and `%` mean something to systemd. */
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

export async function installService(host: Host, start: boolean): Promise<unknown> {
  const system = systemOf(host)
  const changed = !existsSync(system.file) || readFileSync(system.file, 'utf8') !== system.text
  if (changed) {
    mkdirSync(dirname(system.file), { recursive: true })
    writeFileSync(system.file, system.text)
  }
  if (start) for (const command of system.start) await runFor(host, command)
  const lingers =
    process.platform === 'linux'
      ? { hint: 'To keep it running after you log out: loginctl enable-linger' }
      : {}
  return { installed: true, changed, started: start, file: system.file, ...lingers }
}

async function uninstall(host: Host): Promise<unknown> {
  const system = systemOf(host)
  if (!existsSync(system.file)) return { installed: false, changed: false, file: system.file }
  const problems: string[] = []
  for (const command of system.stop) {
    await runFor(host, command).catch((error: unknown) =>
      problems.push(error instanceof Error ? error.message : String(error)),
    )
  }
  rmSync(system.file)
  return { installed: false, changed: true, file: system.file, ...(problems.length > 0 ? { problems } : {}) }
}

export async function serviceStatus(
  host: Host,
): Promise<{ installed: boolean; running: boolean; file: string }> {
  const system = systemOf(host)
  const installed = existsSync(system.file)
  const running = await runFor(host, system.query).then(
    () => true,
    () => false,
  )
  return { installed, running, file: system.file }
}

async function logs(host: Host, limit: number, json: boolean): Promise<unknown> {
  const text = await runFor(host, systemOf(host).log(limit))
  if (json) return { lines: text.split('\n').filter((line) => line !== '') }
  const { visible } = await import('./print.ts')
  host.terminal.out(`${visible(text).trimEnd()}\n`)
  return undefined
}

async function runFor(host: Host, [program, ...args]: string[]): Promise<string> {
  try {
    const { PATH, HOME, XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS } = host.environment.variables
    const env = { PATH, HOME, XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS }
    return (await run(program!, args, { env, timeout: 30_000, maxBuffer: 8 << 20 })).stdout
  } catch (error) {
    const detail = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    throw new RockpoolError(
      'unavailable',
      `\`${program} ${args.join(' ')}\` failed${detail ? `: ${detail}` : ''}.`,
      {
        hint: 'The file is in place; run that command yourself, or start `rockpool up` in another way.',
        cause: error,
      },
    )
  }
}
