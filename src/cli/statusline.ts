// `rockpool statusline`: the command, its help, and the refresh in the background. statusline-text.ts prints the line.
import { z } from 'zod'
import { titleText } from '../domain/machine-text.ts'
import { plainLine } from '../domain/text.ts'
import { readStatusline, writeStatusline } from '../store/statusline-file.ts'
import type { StatuslineFacts } from '../store/statusline-file.ts'
import { openClient } from './call-operation.ts'
import type { Host, LocalCommand } from './host.ts'
import { printStatusline } from './statusline-text.ts'

export const commands: LocalCommand[] = [
  {
    name: 'statusline',
    description:
      "Print a line for Claude Code's status line: cost today, usage window, price of the next call, who needs you. Reads Claude's JSON from stdin.",
    input: z.strictObject({
      refresh: z.boolean().default(false).describe('Find out the facts now, for the next line.'),
    }),
    command: { examples: ['rockpool statusline < /dev/null', 'rockpool statusline --refresh --json'] },
    async run(host, { refresh }, json) {
      if (refresh) await refreshFacts(host)
      if (json) return readStatusline(host.environment.stateDir) ?? {}
      if (!refresh) printStatusline(host)
      return undefined
    },
  },
]

async function refreshFacts(host: Host): Promise<void> {
  const client = await openClient(host)
  try {
    const { cost, usage } = await client.call('status', { recent: 0 })
    const needsYou = await namesNeedingYou(client.call)
    const facts: StatuslineFacts = { at: host.now(), costTodayUsd: cost.todayUsd, needsYou, usage }
    writeStatusline(host.environment.stateDir, facts)
  } finally {
    await client.close()
  }
}

const nameLength = 30

/** Coding sessions, and plain `claude` terminals that wait for an answer. */
async function namesNeedingYou(call: Awaited<ReturnType<typeof openClient>>['call']): Promise<string[]> {
  const { sessions: coding } = await call('coding.sessions', { limit: 200 })
  const { sessions: native } = await call('cc.list', { running: true, archived: false })
  const ours = new Set(coding.map(({ claudeSessionId }) => claudeSessionId))
  return [
    ...coding.filter(({ needsYou }) => needsYou).map(({ name }) => name),
    ...native
      .filter(({ sessionId, state }) => state === 'needs you' && !ours.has(sessionId))
      .map(({ title, firstMessage }) => title ?? titleText(firstMessage)),
  ].map((name) => plainLine(name, nameLength))
}
