// `/claude` and the other coding commands of a chat. Each one performs an operation for the owner.
import { isRunning } from '../domain/coding-session.ts'
import type { ChatCommand } from '../flow/flow-parts.ts'
import type { CommandInfo } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Reply } from '../domain/reply.ts'
import { resolveAlias } from '../operations/aliases.ts'
import type { App } from '../operations/app.ts'
import { answerText, errorText } from '../operations/agent-answers.ts'
import type { Caller } from '../operations/operation.ts'
import { perform } from '../operations/perform.ts'
import type { Input } from '../store/work-store.ts'

interface CodingCommand extends Omit<CommandInfo, 'name'> {
  /** Parses the arguments into the input of the operation. */
  read(rest: string): Record<string, unknown>
  /** Another command that these arguments mean. */
  instead?(rest: string): string | undefined
}

const commands: Readonly<Record<string, CodingCommand>> = {
  claude: {
    usage: '[--name <name>] [--repo <repository>] [--machine <machine>] <prompt>',
    description: 'Start Claude Code in the background.',
    read: (rest) => {
      const { options, words } = withOptions(rest, { name: 'name', repo: 'workdir', machine: 'machine' })
      return { prompt: required(words, 'what to do'), ...options }
    },
  },
  claude_sessions: { description: 'List coding sessions.', read: () => ({}) },
  claude_kill: {
    usage: '<session>',
    description: 'End a coding session.',
    read: (rest) => ({ session: required(rest, 'which session') }),
  },
  claude_fg: {
    usage: '<session>',
    description: 'Stream a coding session here.',
    read: (rest) => ({ session: required(rest, 'which session') }),
  },
  claude_bg: {
    usage: '[session]',
    description: 'Stop streaming here.',
    read: (rest) => (rest === '' ? {} : { session: rest }),
  },
  claude_resume: {
    usage: '[--fork] [--machine <machine>] <session> [prompt] | --list',
    description: 'Resume an earlier coding session.',
    instead: (rest) => (rest === '' || rest === '--list' ? 'claude_sessions' : undefined),
    read: (rest) => {
      const fork = /^--fork\s+/.exec(rest)
      const after = fork ? rest.slice(fork[0].length) : rest
      const { options, words } = withOptions(after, { machine: 'machine' })
      const [session, prompt] = firstWord(words)
      return {
        ...options,
        session: required(session, 'which session'),
        ...(prompt ? { prompt } : {}),
        ...(fork ? { fork: true } : {}),
      }
    },
  },
  claude_move: {
    usage: '<session> <machine>',
    description: 'Move a coding session to another machine that has its repository.',
    read: (rest) => {
      const [session, machine] = firstWord(rest)
      return { session: required(session, 'which session'), machine: required(machine, 'which machine') }
    },
  },
  claude_respond: {
    usage: '[--interrupt] <session> <message>',
    description: 'Send a message to a coding session.',
    read: (rest) => {
      const interrupt = /^--interrupt\s+/.exec(rest)
      const [session, message] = firstWord(interrupt ? rest.slice(interrupt[0].length) : rest)
      return {
        session,
        message: required(message, 'what to say'),
        userInitiated: true,
        interrupt: interrupt !== null,
      }
    },
  },
  claude_stats: { description: 'Show figures over all coding sessions.', read: () => ({}) },
  approve: {
    usage: '[all] [id] [always | an answer]',
    description: 'Allow what a session asks, or all that ask the same.',
    read: (rest) => {
      const { text, ...which } = whichApproval(rest)
      return text === 'always' ? { ...which, always: true } : { ...which, ...(text ? { text } : {}) }
    },
  },
  deny: {
    usage: '[all] [id] [reason]',
    description: 'Deny what a session asks.',
    read: (rest) => {
      const { text, ...which } = whichApproval(rest)
      return { ...which, ...(text ? { text } : {}) }
    },
  },
}

export function codingCommands(app: App): ChatCommand[] {
  return codingCommandInfos().map(({ name, description, usage }) => ({
    name,
    description,
    usage,
    ownerOnly: true,
    run: (rest, input) => runChatCommand(app, name, rest.trim(), input),
  }))
}

/** The command that sends a text to a conversation: to the coding session that continues it now, or by resuming it. */
export function commandToSay(app: App, codingId: string, text: string): string {
  const { coding: store } = app.storage
  const asked = store.get(codingId)
  const [latest = asked] = asked?.sdkSessionId === undefined ? [] : store.resolve(asked.sdkSessionId)
  const isOver = latest?.sdkSessionId !== undefined && !isRunning(latest)
  return `/${isOver ? 'claude_resume' : 'claude_respond'} ${latest?.id ?? codingId} ${text}`
}

/** The same commands for the menus of platforms. */
export function codingCommandInfos(): CommandInfo[] {
  return Object.entries(commands).map(([name, { usage, description }]) => ({ name, description, usage }))
}

async function runChatCommand(app: App, name: string, rest: string, input: Input): Promise<Reply> {
  try {
    const meant = commands[name]?.instead?.(rest) ?? name
    const operation = resolveAlias('chat', meant, commands[meant]!.read(rest))
    const output = await perform(app, operation.name, operation.input, callerOf(input))
    return { text: answerText(operation.name, output) ?? 'Done.' }
  } catch (error) {
    return { text: errorText(error), isError: true }
  }
}

/** Only the owner can run these commands, so the caller has the rights of an operator. */
function callerOf(input: Input): Caller {
  const { address, sender } = input.message
  return {
    via: 'chat',
    scopes: ['read', 'write', 'approve'],
    address,
    name: `${address.channel}:${sender.id}`,
  }
}

/** `all` before the id: also answers the requests that ask the same. */
function whichApproval(rest: string): { id: string; alike: boolean; text: string } {
  const [word, others] = firstWord(rest)
  const alike = word === 'all'
  const [id, text] = alike ? firstWord(others) : [word, others]
  return { id, alike, text }
}

/** Reads the options at the beginning of the text. `fields`: the name of an option to the field of the input. */
function withOptions(
  text: string,
  fields: Readonly<Record<string, string>>,
): { options: Record<string, string>; words: string } {
  const options: Record<string, string> = {}
  let words = text
  for (;;) {
    const [whole, name = '', value = ''] = /^--(\w+)\s+(\S+)\s*/.exec(words) ?? []
    if (whole === undefined || !Object.hasOwn(fields, name)) return { options, words }
    options[fields[name]!] = value
    words = words.slice(whole.length)
  }
}

function firstWord(text: string): [word: string, rest: string] {
  const [, word = '', rest = ''] = /^(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  return [word, rest.trim()]
}

function required(text: string, what: string): string {
  if (text.trim() !== '') return text.trim()
  throw new RockpoolError('usage', `Please say ${what}.`)
}
