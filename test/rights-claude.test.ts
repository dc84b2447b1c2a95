// Which of Claude Code's own tools reach the model, and which of them run, for each author: the real binary.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toolsOf } from '../src/rights/tools.ts'
import type { TestAgent } from './support/claude-agent.ts'
import { makeTestAgent, take } from './support/claude-agent.ts'
import { inline } from './support/messages-api.ts'
import type { Step } from './support/messages-api.ts'

let t: TestAgent
beforeAll(async () => void (t = await makeTestAgent()))
afterAll(() => t.close())

const call = (name: string, input: Record<string, unknown> = {}): Step => ({ tools: [{ name, input }] })
const reaching = [
  call('ToolSearch', { query: 'select:SendMessage,CronCreate', max_results: 9 }),
  call('ListAgents'),
  call('SendMessage', { to: 'somebody', message: 'hello' }),
  call('CronCreate', { cron: '* * * * *', prompt: 'work', recurring: true }),
  call('ScheduleWakeup', { delaySeconds: 60, prompt: 'work', reason: 'later' }),
]

/** Takes a turn in which the model tries these tools; resolves to what reached it, and how each try ended. */
async function tried(key: string, author: Parameters<typeof toolsOf>[0], more = {}) {
  const conversation = await t.open({ key, toolRights: toolsOf(author), ...more })
  const before = t.api.calls().length
  const { events } = await take(conversation, inline(...reaching, { text: 'Done.' }))
  const calls = t.api.calls().slice(before)
  const failed = events.flatMap((event) => (event.type === 'tool-end' ? [event.isError] : []))
  await conversation.close()
  return { names: calls.at(-1)!.body.tools?.map(({ name }) => name) ?? [], text: calls[0]!.text, failed }
}

// Claude puts it in where tools can be searched for; it does nothing.
const placeholder = 'DeferredToolPlaceholder'

test.each(['hook', 'group', 'guest', 'program', 'owner', 'coding'] as const)(
  'a %s turn has the tools on its list only, and none that reaches other sessions or later turns',
  async (author) => {
    const { names, text, failed } = await tried(`tools-of-${author}`, author)
    const open = [...toolsOf(author).open, placeholder]
    expect(names.filter((name) => !open.includes(name))).toEqual([])
    // Tools that are found by searching are named one on each line.
    expect(text).not.toMatch(/^(CronCreate|SendMessage)$/m)
    expect(failed.slice(1)).toEqual([true, true, true, true])
  },
)
