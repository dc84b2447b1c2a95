// `rockpool mcp`: another program starts us and speaks MCP with us over stdin and stdout.
import { resolve } from 'node:path'
import { z } from 'zod'
import type { Host, LocalCommand } from './local-command.ts'

const input = z.strictObject({
  bridge: z
    .boolean()
    .default(false)
    .describe('Serve the bridge: what one Claude Code session may know of its world.'),
  agent: z.string().optional().describe('Whose world it is; the default agent when not given.'),
  repo: z.string().optional().describe('The directory of the session; the current one when not given.'),
  sessionKey: z.string().optional().describe('The chat session that the session works for.'),
})

export const commands: LocalCommand[] = [
  {
    name: 'mcp',
    says: 'Speak MCP over stdin and stdout.',
    input,
    command: { examples: ['claude mcp add openclaw-bridge -- rockpool mcp --bridge'] },
    async run(host: Host, given: Record<string, unknown>) {
      const { repo, ...rest } = given as z.output<typeof input>
      await host.serveMcp({ ...rest, repo: resolve(host.cwd, repo ?? '.') })
      return undefined
    },
  },
]
