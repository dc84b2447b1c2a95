// `/claude` and its companions in a chat: each is the operation of the same meaning, called for the chat's person.
import { isRunning } from '../domain/coding-session.ts'
import type { ChatCommand } from '../flow/flow-parts.ts'
import type { CommandInfo } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Reply } from '../domain/reply.ts'
import { resolveAlias } from '../operations/aliases.ts'
import type { App } from '../operations/app.ts'
import { wordsFor, wordsForError } from '../operations/coding/coding-text.ts'
import type { Caller } from '../operations/operation.ts'
import { perform } from '../operations/perform.ts'
import type { Input } from '../store/work-store.ts'

interface Spoken {
  /** What stands behind the command. */
  usage?: string
  says: string
  /** The operation's input from what stands behind the command. */
  read(rest: string): Record<string, unknown>
  /** Another command that these words really mean. */
  instead?(rest: string): string | undefined
}

const commands: Readonly<Record<string, Spoken>> = {
  claude: {
    usage: '[--name <name>] [--repo <repository>] [--machine <machine>] <prompt>',
    says: 'Start Claude Code in the background.',
    read: (rest) => {
      const { options, words } = withOptions(rest, { name: 'name', repo: 'workdir', machine: 'machine' })
      return { prompt: wanted(words, 'what to do'), ...options }
    },
  },
  claude_sessions: { says: 'List coding sessions.', read: () => ({}) },
  claude_kill: {
    usage: '<session>',
    says: 'End it.',
    read: (rest) => ({ session: wanted(rest, 'which session') }),
  },
  claude_fg: {
    usage: '<session>',
    says: 'Stream it here.',
    read: (rest) => ({ session: wanted(rest, 'which session') }),
  },
  claude_bg: {
    usage: '[session]',
    says: 'Stop streaming.',
    read: (rest) => (rest === '' ? {} : { session: rest }),
  },
  claude_resume: {
    usage: '[--fork] [--machine <machine>] <session> [prompt] | --list',
    says: 'Go on with an earlier one.',
    instead: (rest) => (rest === '' || rest === '--list' ? 'claude_sessions' : undefined),
    read: (rest) => {
      const fork = /^--fork\s+/.exec(rest)
      const after = fork ? rest.slice(fork[0].length) : rest
      const { options, words } = withOptions(after, { machine: 'machine' })
      const [session, prompt] = firstWord(words)
      return {
        ...options,
        session: wanted(session, 'which session'),
        ...(prompt ? { prompt } : {}),
        ...(fork ? { fork: true } : {}),
      }
    },
  },
  claude_move: {
    usage: '<session> <machine>',
    says: 'Move it to another machine that has its repository.',
    read: (rest) => {
      const [session, machine] = firstWord(rest)
      return { session: wanted(session, 'which session'), machine: wanted(machine, 'which machine') }
    },
  },
  claude_respond: {
    usage: '[--interrupt] <session> <message>',
    says: 'Answer it.',
    read: (rest) => {
      const interrupt = /^--interrupt\s+/.exec(rest)
      const [session, message] = firstWord(interrupt ? rest.slice(interrupt[0].length) : rest)
      return {
        session,
        message: wanted(message, 'what to say'),
        userInitiated: true,
        interrupt: interrupt !== null,
      }
    },
  },
  claude_stats: { says: 'Figures over all coding sessions.', read: () => ({}) },
  approve: {
    usage: '[all] [id] [always | an answer]',
    says: 'Allow what a session asks, or all that ask the same.',
    read: (rest) => {
      const { text, ...which } = whichApproval(rest)
      return text === 'always' ? { ...which, always: true } : { ...which, ...(text ? { text } : {}) }
    },
  },
  deny: {
    usage: '[all] [id] [reason]',
    says: 'Refuse it.',
    read: (rest) => {
      const { text, ...which } = whichApproval(rest)
      return { ...which, ...(text ? { text } : {}) }
    },
  },
}

export function codingCommands(app: App): ChatCommand[] {
  return Object.entries(commands).map(([name, { usage, says }]) => ({
    name,
    says,
    ...(usage === undefined ? {} : { usage }),
    ownerOnly: true,
    run: (rest, input) => runChatCommand(app, name, rest.trim(), input),
  }))
}

/** Says something to the conversation of a session: to whoever goes on with it now, or by resuming it. */
export function commandToSay(app: App, codingId: string, text: string): string {
  const { coding: store } = app.storage
  const asked = store.get(codingId)
  const [latest = asked] = asked?.sdkSessionId === undefined ? [] : store.resolve(asked.sdkSessionId)
  const isOver = latest?.sdkSessionId !== undefined && !isRunning(latest)
  return `/${isOver ? 'claude_resume' : 'claude_respond'} ${latest?.id ?? codingId} ${text}`
}

/** The same commands for the menus of platforms. */
export function codingCommandInfos(): CommandInfo[] {
  return Object.entries(commands).map(([name, { usage, says }]) => ({
    name,
    description: says,
    usage,
  }))
}

async function runChatCommand(app: App, name: string, rest: string, input: Input): Promise<Reply> {
  try {
    const meant = commands[name]?.instead?.(rest) ?? name
    const operation = resolveAlias('chat', meant, commands[meant]!.read(rest))
    const output = await perform(app, operation.name, operation.input, callerOf(input))
    return { text: wordsFor(operation.name, output) ?? 'Done.' }
  } catch (error) {
    return { text: wordsForError(error), isError: true }
  }
}

/** Only the owner gets here, so it may do what an operator may; it is told where it asked from. */
function callerOf(input: Input): Caller {
  const { address, sender } = input.message
  return {
    via: 'chat',
    scopes: ['read', 'write', 'approve'],
    address,
    name: `${address.channel}:${sender.id}`,
  }
}

/** `all` before the id means those that ask the same as well. */
function whichApproval(rest: string): { id: string; alike: boolean; text: string } {
  const [word, others] = firstWord(rest)
  const alike = word === 'all'
  const [id, text] = alike ? firstWord(others) : [word, others]
  return { id, alike, text }
}

/** Options stand before everything else; what they are called here, and which fields they are. */
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

function wanted(text: string, what: string): string {
  if (text.trim() !== '') return text.trim()
  throw new RockpoolError('usage', `Please say ${what}.`)
}
