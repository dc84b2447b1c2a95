// `/remind`, `/schedule` and `/schedules` of a chat. They act in this chat: a reminder is a message here, a scheduled task is a turn of
// the session of this chat.
import type { ChatCommand } from '../flow/flow-parts.ts'
import { messageAndHint } from '../domain/errors.ts'
import { perform } from '../operations/all.ts'
import type { App } from '../operations/app.ts'
import type { Caller } from '../operations/operation.ts'
import type { Reply } from '../domain/reply.ts'
import type { Input } from '../store/work-store.ts'

interface Shown {
  name: string
  times: string
  nextTimes: number[]
  paused?: string
}

const example = 'weekdays 9:00 | tomorrow 18:00 | in 2 hours | every 15 minutes'

export function scheduleCommands(app: App): ChatCommand[] {
  const add = async (rest: string, input: Input, kind: 'message' | 'turn'): Promise<string> => {
    const added = await perform(app, 'schedules.add', { text: rest, do: kind }, callerOf(input))
    return describe(app, added as Shown)
  }
  const list = async (input: Input): Promise<string> => {
    const { schedules } = (await perform(app, 'schedules.list', {}, callerOf(input))) as {
      schedules: Shown[]
    }
    return schedules.map((each) => describe(app, each)).join('\n\n') || 'No schedules.'
  }
  const command = (
    name: string,
    about: Pick<ChatCommand, 'description' | 'usage'>,
    act: (rest: string, input: Input) => Promise<string>,
  ): ChatCommand => ({
    name,
    ...about,
    ownerOnly: true,
    run: (rest, input) => answer(() => act(rest.trim(), input)),
  })
  return [
    command(
      'remind',
      { usage: `<${example}> <text>`, description: 'Send a message here later.' },
      (rest, input) => add(rest, input, 'message'),
    ),
    command(
      'schedule',
      { usage: `<${example}> <task>`, description: 'Let the agent do something here at times.' },
      (rest, input) => (rest === '' ? list(input) : add(rest, input, 'turn')),
    ),
    command('schedules', { description: 'List schedules with their next times.' }, (_rest, input) =>
      list(input),
    ),
  ]
}

async function answer(act: () => Promise<string>): Promise<Reply> {
  try {
    return { text: await act() }
  } catch (error) {
    return { text: messageAndHint(error), isError: true }
  }
}

/** Only the owner can run these commands, so the caller has the rights of an operator. */
function callerOf({ message: { address, sender }, lane }: Input): Caller {
  return {
    via: 'chat',
    scopes: ['read', 'write', 'approve'],
    address,
    sessionKey: lane,
    name: `${address.channel}:${sender.id}`,
  }
}

function describe(app: App, { name, times, nextTimes, paused }: Shown): string {
  const time = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: app.config.timeZone,
  })
  const next = nextTimes.map((moment) => time.format(moment)).join(', ')
  return `⏰ ${name}: ${times}\n${paused ?? (next === '' ? 'It is not due any more.' : `Next: ${next}`)}`
}
