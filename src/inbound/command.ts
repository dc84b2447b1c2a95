// Commands that a person types into a chat. A text is a command only if it begins with one that we know, has no
// invisible character in it, was not forwarded, and came from somebody who may give it.
import type { CommandInfo } from '../domain/channel.ts'
import { mayCommand } from '../rights/chat-rights.ts'
import type { CommandAuthor, CommandRight } from '../rights/chat-rights.ts'
import { hasInvisible } from './normalize.ts'

/** What the command needs: `now` runs at once, beside a running turn; `turn` waits for its place in the conversation. */
type CommandTime = 'now' | 'turn'

interface CommandShape {
  says: string
  when: CommandTime
  usage?: string
  aliases?: readonly string[]
  /** Who may give it; whoever may talk when absent. A group's settings are everybody's, so there they are the owner's. */
  who?: CommandRight
}

const shapes = {
  help: { says: 'Show what can be typed here.', when: 'now', aliases: ['commands', 'start'] },
  status: { says: 'Show this session: model, context, queue.', when: 'now' },
  new: {
    says: 'Begin a new session.',
    when: 'turn',
    usage: '[model] [message]',
    who: 'members-in-groups',
  },
  reset: {
    says: 'Begin a new session.',
    when: 'turn',
    usage: '[model] [message]',
    who: 'members-in-groups',
  },
  stop: {
    says: 'Stop the running turn and forget what waits.',
    when: 'now',
    aliases: ['abort', 'cancel'],
    who: 'members-in-groups',
  },
  compact: {
    says: 'Summarise the conversation to free context.',
    when: 'turn',
    usage: '[instructions]',
    who: 'members-in-groups',
  },
  model: {
    says: 'Show or choose the model.',
    when: 'now',
    usage: '[name | default]',
    who: 'owner-in-groups',
  },
  think: {
    says: 'How much to think.',
    when: 'now',
    usage: '[off | minimal | low | medium | high | max]',
    aliases: ['thinking', 't'],
    who: 'owner-in-groups',
  },
  verbose: {
    says: 'Show the tools that are used.',
    when: 'now',
    usage: '[on | off]',
    aliases: ['v'],
    who: 'owner-in-groups',
  },
  reasoning: {
    says: 'Show the reasoning before a reply.',
    when: 'now',
    usage: '[on | off]',
    aliases: ['reason'],
    who: 'owner-in-groups',
  },
  usage: {
    says: 'Show tokens after each reply.',
    when: 'now',
    usage: '[off | tokens | full]',
    who: 'owner-in-groups',
  },
  queue: {
    says: 'What happens to messages while a turn runs.',
    when: 'now',
    usage:
      '[steer | followup | collect | interrupt] [debounce:1s] [cap:20] [drop:old | new | summarize] | reset',
    who: 'owner-in-groups',
  },
  send: {
    says: 'May replies be sent from this session?',
    when: 'now',
    usage: '[on | off | inherit]',
    who: 'owner',
  },
  activation: {
    says: 'In a group: answer always, or when mentioned.',
    when: 'now',
    usage: '[mention | always]',
    who: 'owner-in-groups',
  },
  name: { says: 'Give this session a name.', when: 'now', usage: '<label>', who: 'owner-in-groups' },
  whoami: { says: 'Show your id on this channel.', when: 'now', aliases: ['id'] },
} as const satisfies Record<string, CommandShape>

export type CommandName = keyof typeof shapes

export const commandShapes: Readonly<Record<CommandName, CommandShape>> = shapes

export interface Command {
  name: CommandName
  /** What follows the command, trimmed. */
  rest: string
}

/** The command that a text is, if it is one. `/new@my_bot haiku` and `/THINK: high` are understood. */
export function parseCommand(text: string): Command | undefined {
  const match = /^\/([A-Za-z]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?:\s*:\s*|\s+|$)([\s\S]*)$/.exec(text.trim())
  if (!match || hasInvisible(match[0].slice(0, match[0].length - match[3]!.length))) return undefined
  const name = commandNamed(match[1]!.toLowerCase())
  return name === undefined ? undefined : { name, rest: match[3]!.trim() }
}

/** May this command be given by them, there? */
export function mayGive(name: CommandName, from: CommandAuthor): boolean {
  return mayCommand(commandShapes[name].who ?? 'anybody', from)
}

function commandNamed(word: string): CommandName | undefined {
  for (const [name, shape] of Object.entries(commandShapes)) {
    if (word === name || shape.aliases?.includes(word)) return name as CommandName
  }
  return undefined
}

/** What the menus of platforms show. */
export function commandInfos(): CommandInfo[] {
  return Object.entries(commandShapes).map(([name, { says, usage }]) => ({
    name,
    description: says,
    usage,
  }))
}

/** The help text, made from the table. */
export function helpText(more: ReadonlyArray<{ name: string; usage?: string; says: string }> = []): string {
  const own = Object.entries(commandShapes).map(([name, { usage, says }]) => ({ name, usage, says }))
  const lines = [...own, ...more].map(
    ({ name, usage, says }) => `/${[name, usage].filter(Boolean).join(' ')} - ${says}`,
  )
  return ['You can type:', ...lines].join('\n')
}
