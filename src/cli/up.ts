// `rockpool up`: the gateway in the foreground.
import { z } from 'zod'
import type { LocalCommand, ReadyLine } from './local-command.ts'
import { jsonText } from './json-text.ts'

export const commands: LocalCommand[] = [
  {
    name: 'up',
    says: 'Start the gateway: live sessions, channels, coding sessions, and one door for programs.',
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
]

function greeting({ url, dashboardUrl, claudeHint }: ReadyLine): string {
  return [
    `Rockpool listens at ${url}\n`,
    `  ${dashboardUrl}\n`,
    'This link opens the dashboard once, within a minute; `rockpool dashboard` makes another. Ctrl-C stops.',
    ...(claudeHint ? [`Claude is not connected: an offline agent answers. ${claudeHint}`] : []),
    '',
  ].join('\n')
}
