// `rockpool mcp`: another program starts us and speaks MCP with us over stdin and stdout.
import { resolve } from 'node:path'
import { z } from 'zod'
import { findGateway } from './call-operation.ts'
import type { Host, LocalCommand } from './local-command.ts'

const input = z.strictObject({
  bridge: z
    .boolean()
    .default(false)
    .describe('Serve the bridge: what one Claude Code session may know of its world.'),
  scope: z
    .array(z.enum(['read', 'write', 'approve', 'admin']))
    .min(1)
    .default(['write'])
    .describe('What the client may do.'),
  agent: z
    .string()
    .optional()
    .describe("Whose world it is. The bridge takes the default agent; otherwise it is the operator's."),
  repo: z.string().optional().describe('The directory of the session; the current one when not given.'),
  sessionKey: z.string().optional().describe('The chat session that the session works for.'),
})

export const commands: LocalCommand[] = [
  {
    name: 'mcp',
    description: 'Offer Rockpool to an MCP client over stdin and stdout.',
    input,
    command: {
      examples: [
        'claude mcp add rockpool -- rockpool mcp --scope read',
        'claude mcp add openclaw-bridge -- rockpool mcp --bridge',
      ],
    },
    async run(host: Host, given: Record<string, unknown>) {
      const { repo, ...rest } = given as z.output<typeof input>
      await host.serveMcp({
        ...rest,
        repo: resolve(host.cwd, repo ?? '.'),
        gateway: await findGateway(host.environment),
      })
      return undefined
    },
  },
]
