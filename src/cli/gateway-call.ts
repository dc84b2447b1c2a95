// `rockpool gateway call <method> <json>`: any method by its name, for scripts and the curious. `rockpool dashboard`:
// the way into the dashboard.
import { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import { resolveAlias } from '../operations/aliases.ts'
import { findOperation } from '../operations/all.ts'
import { unknownOperation } from '../operations/perform.ts'
import { openAsker } from './call-operation.ts'
import type { Host, LocalCommand } from './local-command.ts'

export const commands: LocalCommand[] = [
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
    name: 'dashboard',
    description: 'Give an address that opens the dashboard once, within a minute.',
    input: z.strictObject({}),
    command: { examples: ['rockpool dashboard'] },
    async run(host, _input, json) {
      const opened = (await call(host, 'dashboard.code', {})) as { url: string }
      if (json) return opened
      host.terminal.out(`${opened.url}\n`)
      return undefined
    },
  },
]

async function call(host: Host, method: string, params: Record<string, unknown>): Promise<unknown> {
  const { name, input } = resolveAlias('rpc', method, params)
  const operation = await findOperation(name)
  if (!operation) throw unknownOperation(method)
  const asker = await openAsker(host)
  try {
    return await asker.ask(operation, input)
  } finally {
    await asker.close()
  }
}

function parseParams(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch {
    // Said below, with what was typed.
  }
  throw new RockpoolError('usage', `${JSON.stringify(text.slice(0, 80))} is not a JSON object.`, {
    hint: `Put it in single quotes: '{"limit": 5}'.`,
  })
}
