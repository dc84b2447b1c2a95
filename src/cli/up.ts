// `rockpool up`: the gateway in the foreground. `rockpool down` ends it, wherever it was started.
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import { findRunningGateway } from '../store/gateway-file.ts'
import { isSameProcess } from '../store/disk/process-identity.ts'
import type { ProcessIdentity } from '../store/disk/process-identity.ts'
import { jsonText } from './json-text.ts'
import type { Host, LocalCommand, ReadyLine } from './local-command.ts'

export const commands: LocalCommand[] = [
  {
    name: 'up',
    description: 'Start the gateway: live sessions, channels, coding sessions, and one door for programs.',
    input: z.strictObject({
      port: z.int().min(0).max(65_535).optional().describe('The port; 0 takes any free one.'),
      bind: z.string().optional().describe('The address to listen on; this machine only unless given.'),
      console: z.boolean().optional().describe('Talk to the agent in this terminal, too.'),
      allowPlaintextLan: z.boolean().optional().describe('Listen on a network without TLS.'),
    }),
    command: { examples: ['rockpool up', 'rockpool up --port 0 --json'] },
    async run(host, input, json) {
      await host.up(input, (ready) => {
        const { movedFrom, dashboardUrl: _dashboardUrl, claudeHint: _claudeHint, ...line } = ready
        if (movedFrom !== undefined)
          host.terminal.err(`Port ${movedFrom} is taken; using the next free one.\n`)
        host.terminal.out(json ? `${jsonText(line)}\n` : greeting(ready))
      })
      return undefined
    },
  },
  {
    name: 'down',
    description:
      'End the gateway that runs here. What it has not answered yet is answered after the next start.',
    input: z.strictObject({}),
    command: { examples: ['rockpool down'] },
    run: (host, _input, json) => down(host, json),
  },
]

/** Longer than a gateway lets running turns come to their end. */
const downWithinMs = 40_000

async function down({ environment, terminal }: Host, json: boolean): Promise<unknown> {
  const running = findRunningGateway(environment.stateDir)
  if (running) await ended(running.process)
  if (json) return { ok: true, ...(running ? { pid: running.process.pid } : {}) }
  terminal.out(
    running ? `The gateway has ended (process ${running.process.pid}).\n` : 'No gateway runs here.\n',
  )
  return undefined
}

async function ended(gateway: ProcessIdentity): Promise<void> {
  const { pid } = gateway
  process.kill(pid, 'SIGTERM')
  const until = performance.now() + downWithinMs
  while (isSameProcess(gateway)) {
    if (performance.now() >= until)
      throw new RockpoolError('timed-out', `The gateway (process ${pid}) has not ended in 40 s.`, {
        hint: `\`rockpool logs\` may say why. \`kill -9 ${pid}\` ends it at once; nothing that was acknowledged is lost.`,
      })
    await sleep(50)
  }
}

function greeting({ url, dashboardUrl, claudeHint }: ReadyLine): string {
  return [
    `Rockpool listens at ${url}\n`,
    `  ${dashboardUrl}\n`,
    'This link opens the dashboard once, within a minute; `rockpool dashboard` makes another. Ctrl-C stops.',
    ...(claudeHint ? [`Claude is not connected: an offline agent answers. ${claudeHint}`] : []),
    '',
  ].join('\n')
}
