// Commands about the gateway process: start it, stop it, call it, serve MCP beside it, and restore a backup without it.
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { systemClock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import { resolveAlias } from '../operations/aliases.ts'
import { findRunningGateway } from '../store/gateway-file.ts'
import { isSameProcess } from '../store/disk/process-identity.ts'
import type { ProcessIdentity } from '../store/disk/process-identity.ts'
import { connectionTo, findGateway, openClient } from './call-operation.ts'
import { pageOf } from './host.ts'
import type { Host, LocalCommand, ReadyLine } from './host.ts'
import { jsonText } from './json-text.ts'
import { count, prose, safe } from './print.ts'
import type { Page } from './print.ts'

const mcpInput = z.strictObject({
  bridge: z.boolean().default(false).describe('Serve the bridge: tools about one Claude Code session.'),
  scope: z
    .array(z.enum(['read', 'write', 'approve', 'admin']))
    .min(1)
    .default(['write'])
    .describe('What the client may do.'),
  agent: z
    .string()
    .optional()
    .describe('Limit it to this agent. By default the bridge has the default agent, and the rest no limit.'),
  repo: z.string().optional().describe('The directory of the session; by default the current one.'),
  sessionKey: z.string().optional().describe('The chat session that the session works for.'),
})

export const commands: LocalCommand[] = [
  {
    name: 'up',
    description:
      'Start the gateway: live sessions, channels, coding sessions, the dashboard and the API for programs.',
    input: z.strictObject({
      port: z.int().min(0).max(65_535).optional().describe('The port; 0 takes any free one.'),
      bind: z.string().optional().describe('The address to listen on; by default this machine only.'),
      console: z.boolean().optional().describe('Also talk to the agent in this terminal.'),
      allowPlaintextLan: z.boolean().optional().describe('Listen on a network without TLS.'),
    }),
    command: { examples: ['rockpool up', 'rockpool up --port 0 --json'] },
    async run(host, input, json) {
      await host.up(input, (ready) => {
        const { movedFrom, dashboardUrl: _dashboardUrl, claudeHint: _claudeHint, ...line } = ready
        if (movedFrom !== undefined)
          host.terminal.err(`Port ${movedFrom} is taken; using the next free one.\n`)
        host.terminal.out(json ? `${jsonText(line)}\n` : greeting(ready, pageOf(host)))
      })
      return undefined
    },
  },
  {
    name: 'down',
    description: 'Stop the gateway that runs here. Unanswered messages are answered after the next start.',
    input: z.strictObject({}),
    command: { examples: ['rockpool down'] },
    async run({ environment }) {
      const running = findRunningGateway(environment.stateDir)
      if (running) await stop(running.process)
      return { ok: true, pid: running?.process.pid }
    },
    print: (output) => {
      const { pid } = output as { pid?: number }
      return pid === undefined ? 'No gateway runs here.' : `The gateway has stopped (process ${pid}).`
    },
  },
  {
    name: 'gateway.call',
    description: 'Call a method by its name, with its parameters as JSON.',
    input: z.strictObject({
      method: z.string().describe('The method, such as sessions.list.'),
      params: z.string().default('{}').describe('Its parameters, as a JSON object.'),
    }),
    command: {
      positional: ['method', 'params'],
      examples: [`rockpool gateway call sessions.list '{"limit": 5}'`, 'rockpool gateway call health'],
    },
    run: (host, input) => call(host, String(input['method']), parseParams(String(input['params']))),
  },
  {
    name: 'mcp',
    description: 'Offer Rockpool to an MCP client over stdin and stdout.',
    input: mcpInput,
    command: {
      examples: [
        'claude mcp add rockpool -- rockpool mcp --scope read',
        'claude mcp add openclaw-bridge -- rockpool mcp --bridge',
      ],
    },
    async run(host, input) {
      const { repo = '.', ...rest } = input as z.output<typeof mcpInput>
      const gateway = await findGateway(host.environment)
      const connection = gateway && connectionTo(host.environment, gateway)
      await host.serveMcp({ ...rest, repo: resolve(host.cwd, repo), gateway: connection })
      return undefined
    },
  },
  {
    name: 'restore-backup',
    description: 'Restore a backup; the current state is moved aside.',
    input: z.strictObject({ from: z.string().describe('The folder of the backup.') }),
    destructive: true,
    command: {
      positional: ['from'],
      examples: ['rockpool restore-backup ~/backups/rockpool-backup-2026-11-15T09-00-00-000Z'],
    },
    run: (host, input) => restoreBackup(host, String(input['from'])),
    print: (output, page) => {
      const { files, movedTo, next } = output as Awaited<ReturnType<typeof restoreBackup>>
      const aside = movedTo === undefined ? '' : safe` The previous state is now in ${movedTo}.`
      return prose([`Restored ${count(files, 'file')}.${aside}`, next].filter(Boolean).join('\n'), page)
    },
  },
]

async function restoreBackup({ environment: { stateDir }, cwd }: Host, from: string) {
  const gateway = findRunningGateway(stateDir)
  if (gateway) {
    throw new RockpoolError('busy', `A gateway runs on ${stateDir} (process ${gateway.process.pid}).`, {
      hint: 'Stop it with `rockpool down`, then restore.',
    })
  }
  const { restoreState } = await import('../store/backup.ts')
  return restoreState(resolve(cwd, from), stateDir, systemClock)
}

async function call(host: Host, method: string, params: Record<string, unknown>): Promise<unknown> {
  const { name, input } = resolveAlias('rpc', method, params)
  const client = await openClient(host)
  try {
    return await client.callByName(name, input)
  } finally {
    await client.close()
  }
}

function parseParams(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch {
    // The error below has the text that was typed.
  }
  throw new RockpoolError('usage', `${JSON.stringify(text.slice(0, 80))} is not a JSON object.`, {
    hint: `Put it in single quotes: '{"limit": 5}'.`,
  })
}

function greeting({ url, dashboardUrl, claudeHint }: ReadyLine, page: Page): string {
  return [
    `Rockpool listens at ${url}\n`,
    `  ${dashboardUrl}\n`,
    prose(
      'This link opens the dashboard once, within a minute; `rockpool dashboard` makes another. Ctrl-C stops.',
      page,
    ),
    ...(claudeHint ? [prose(`Claude is not connected: an offline agent answers. ${claudeHint}`, page)] : []),
    '',
  ].join('\n')
}

/** Longer than a gateway waits for running turns to end. */
const stopWithinMs = 40_000

async function stop(gateway: ProcessIdentity): Promise<void> {
  const { pid } = gateway
  process.kill(pid, 'SIGTERM')
  const until = performance.now() + stopWithinMs
  while (isSameProcess(gateway)) {
    if (performance.now() >= until)
      throw new RockpoolError('timed-out', `The gateway (process ${pid}) has not stopped in 40 s.`, {
        hint: `\`rockpool logs\` may show why. \`kill -9 ${pid}\` ends it at once; acknowledged work is not lost.`,
      })
    await sleep(50)
  }
}

const readyWithinMs = 30_000
/** The exit code of `up` when another gateway holds the state directory. */
const lockedCode = 5

/** A coding session outlives the command that launched it, so it needs a gateway: starts one if none runs and `check` allows it. */
export async function ensureGateway(host: Host, check?: () => Promise<void> | undefined): Promise<void> {
  if (await findGateway(host.environment)) return
  await check?.()
  const child = spawn(process.execPath, [host.program, 'up'], { detached: true, stdio: 'ignore' })
  child.unref()
  let failure: string | undefined
  let anotherStarted = false
  child.once('error', (error) => (failure = error.message))
  child.once('exit', (code) => {
    // Another command has started a gateway at the same time; this command can use that one.
    anotherStarted = code === lockedCode
    if (!anotherStarted) failure = `it ended with ${code ?? 'a signal'}`
  })
  const until = performance.now() + readyWithinMs
  while (!(await findGateway(host.environment))) {
    if (failure !== undefined || performance.now() >= until) throw notStarted(failure)
    await sleep(50)
  }
  if (!anotherStarted)
    host.terminal.err(
      `No gateway ran here: started one in the background (process ${child.pid}). \`rockpool down\` stops it.\n`,
    )
}

function notStarted(why = 'it did not become ready'): RockpoolError {
  return new RockpoolError('unavailable', `The gateway could not be started in the background: ${why}.`, {
    hint: '`rockpool up` shows why. `--wait` needs no gateway.',
  })
}
