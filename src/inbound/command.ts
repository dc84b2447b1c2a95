// Commands that people type into a chat. A text is a command only if it starts with a known one, contains no invisible
// character, was not forwarded, and its sender may give it.
import type { CommandInfo } from '../domain/channel.ts'
import { mayCommand, type CommandAuthor, type CommandRight } from '../rights/chat-rights.ts'
import { hasInvisible } from './message-text.ts'

interface CommandShape {
  description: string
  /** `now` runs at once, also beside a running turn; `turn` waits for its place in the conversation. */
  when: 'now' | 'turn'
  usage?: string
  aliases?: readonly string[]
  /** Who may give it; every sender when absent. In a group, settings concern everybody, so only the owner may change them. */
  who?: CommandRight
}

const shapes = {
  help: { description: 'Show what can be typed here.', when: 'now', aliases: ['commands', 'start'] },
  status: { description: 'Show this session: model, context, queue.', when: 'now' },
  new: {
    description: 'Start a new session.',
    when: 'turn',
    usage: '[model] [message]',
    who: 'members-in-groups',
  },
  reset: {
    description: 'Start a new session.',
    when: 'turn',
    usage: '[model] [message]',
    who: 'members-in-groups',
  },
  stop: {
    description: 'Stop the running turn and remove the waiting messages.',
    when: 'now',
    aliases: ['abort', 'cancel'],
    who: 'members-in-groups',
  },
  compact: {
    description: 'Summarise the conversation to free context.',
    when: 'turn',
    usage: '[instructions]',
    who: 'members-in-groups',
  },
  model: {
    description: 'Show or choose the model.',
    when: 'now',
    usage: '[name | default]',
    who: 'owner-in-groups',
  },
  think: {
    description: 'Choose how much to think.',
    when: 'now',
    usage: '[off | minimal | low | medium | high | max]',
    aliases: ['thinking', 't'],
    who: 'owner-in-groups',
  },
  verbose: {
    description: 'Show the tools that the agent uses.',
    when: 'now',
    usage: '[on | off]',
    aliases: ['v'],
    who: 'owner-in-groups',
  },
  reasoning: {
    description: 'Show the reasoning before a reply.',
    when: 'now',
    usage: '[on | off]',
    aliases: ['reason'],
    who: 'owner-in-groups',
  },
  usage: {
    description: 'Show tokens after each reply.',
    when: 'now',
    usage: '[off | tokens | full]',
    who: 'owner-in-groups',
  },
  queue: {
    description: 'Choose what happens to messages while a turn runs.',
    when: 'now',
    usage:
      '[steer | followup | collect | interrupt] [debounce:1s] [cap:20] [drop:old | new | summarize] | reset',
    who: 'owner-in-groups',
  },
  send: {
    description: 'Allow or forbid replies from this session.',
    when: 'now',
    usage: '[on | off | inherit]',
    who: 'owner',
  },
  activation: {
    description: 'In a group: answer always, or when mentioned.',
    when: 'now',
    usage: '[mention | always]',
    who: 'owner-in-groups',
  },
  name: { description: 'Give this session a name.', when: 'now', usage: '<label>', who: 'owner-in-groups' },
  whoami: { description: 'Show your id on this channel.', when: 'now', aliases: ['id'] },
} as const satisfies Record<string, CommandShape>

export type CommandName = keyof typeof shapes

export const commandShapes: Readonly<Record<CommandName, CommandShape>> = shapes

interface Command {
  name: CommandName
  /** What follows the command, trimmed. */
  rest: string
}

/** The command in a text. `/new@my_bot haiku` and `/THINK: high` are understood. */
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

/** For the menus of platforms. */
export function commandInfos(): CommandInfo[] {
  return Object.entries(commandShapes).map(([name, { description, usage }]) => ({ name, description, usage }))
}

/** One line for each command, ours and `more`. */
export function helpText(more: readonly CommandInfo[] = []): string {
  const lines = [...commandInfos(), ...more].map(
    ({ name, usage, description }) => `/${[name, usage].filter(Boolean).join(' ')} - ${description}`,
  )
  return ['You can type:', ...lines].join('\n')
}
