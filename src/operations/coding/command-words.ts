// The coding commands of a chat (`/claude`, `/claude_kill`, `/approve` …): how their arguments are read. Rockpool's own chats
// and the chats of OpenClaw use the same table.
import type { CommandInfo } from '../../domain/channel.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { resolveAlias } from '../aliases.ts'

interface CodingCommand extends Omit<CommandInfo, 'name'> {
  /** Parses the arguments into the input of the operation. */
  read(rest: string, shownWith: ShownWith): Record<string, unknown>
  /** Another command that these arguments mean. */
  instead?(rest: string): string | undefined
}

/** The requests that the chat was shown with the one of this id, for an answer to all of them. */
type ShownWith = (id: string) => string[]

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
        prompt: prompt || undefined,
        fork: fork ? true : undefined,
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
    read: (rest, shownWith) => {
      const { text, ...which } = whichApproval(rest, shownWith)
      return text === 'always' ? { ...which, always: true } : { ...which, text: text || undefined }
    },
  },
  deny: {
    usage: '[all] [id] [reason]',
    description: 'Deny what a session asks.',
    read: (rest, shownWith) => {
      const { text, ...which } = whichApproval(rest, shownWith)
      return { ...which, text: text || undefined }
    },
  },
}

/** For the menus of platforms. */
export function codingCommandInfos(): CommandInfo[] {
  return Object.entries(commands).map(([name, { usage, description }]) => ({ name, description, usage }))
}

/** The operation that a command means, with its input. Undefined for a name that is no coding command. */
export function readCodingCommand(
  name: string,
  rest: string,
  shownWith: ShownWith,
): { name: string; input: Record<string, unknown> } | undefined {
  if (!Object.hasOwn(commands, name)) return undefined
  const meant = commands[name]!.instead?.(rest) ?? name
  return resolveAlias('chat', meant, commands[meant]!.read(rest, shownWith))
}

/** `all` before the id: also answers the requests that ask the same. */
function whichApproval(rest: string, shownWith: ShownWith): { id: string; alike: string[]; text: string } {
  const [word, others] = firstWord(rest)
  const isAll = word === 'all'
  const [id, text] = isAll ? firstWord(others) : [word, others]
  return { id, alike: isAll ? shownWith(id) : [], text }
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
