// Rules that let requests of coding sessions pass without a question: exactly this input, this command in this repository, or
// edits below this folder. A rule holds for one session or for all, until a time or always. A person decides on every request
// that no rule plainly covers.
import { lstatSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { ruleKinds } from '../../domain/coding-session.ts'
import type { Grant, RuleKind } from '../../domain/coding-session.ts'
import { RockpoolError, attempt } from '../../domain/errors.ts'
import { nativeIdOf } from '../../domain/native-key.ts'
import { repositoryRoot } from '../queue/repositories.ts'
import { grantPattern } from './question-text.ts'
import type { QuestionRequest } from './question-text.ts'
import { simpleCommandWords } from './simple-command.ts'

type Asked = Pick<QuestionRequest, 'kind' | 'toolName' | 'input' | 'cwd' | 'scripts'>
interface Asker {
  codingId?: string
  sessionKey?: string
}

/** The first rule that covers the request. */
export function findRule(rules: Grant[], request: Asked, asker: Asker, now: number): Grant | undefined {
  if (request.kind !== 'tool') return undefined
  return rules.find((rule) => isInForce(rule, asker, now) && covers(rule, request))
}

function isInForce(rule: Grant, { codingId, sessionKey }: Asker, now: number): boolean {
  if (rule.until !== undefined && rule.until <= now) return false
  const isForAll = rule.codingId === undefined && rule.sessionKey === undefined
  // A rule for all sessions is about coding sessions, ours and native ones; chats have rights of their own.
  if (isForAll) return codingId !== undefined || nativeIdOf(sessionKey) !== undefined
  return (rule.codingId ?? '') === (codingId ?? '') && (rule.sessionKey ?? '') === (sessionKey ?? '')
}

function covers(rule: RuleScope, request: Asked): boolean {
  if (rule.kind === 'command') return coversCommand(rule, request)
  if (rule.kind === 'edits') return coversEdit(rule, request)
  return rule.tool === request.toolName && rule.pattern === grantPattern(request)
}

/** Fields of `Bash` that do not change what runs. With any other field, such as one for the background, a person decides. */
const harmlessFields = new Set(['command', 'description', 'timeout'])

function coversCommand({ pattern, folder }: RuleScope, { toolName, input, cwd }: Asked): boolean {
  const { command } = input
  if (toolName !== 'Bash' || typeof command !== 'string' || cwd === undefined) return false
  if (Object.keys(input).some((field) => !harmlessFields.has(field))) return false
  const words = simpleCommandWords(command)
  const directory = realPath(cwd)
  if (!words || directory === undefined || repositoryRoot(directory) !== folder) return false
  return matches(words, pattern)
}

/** `npm test` is these words alone; `npm test *` has any further arguments. */
function matches(words: string[], pattern: string): boolean {
  const { wanted, more } = commandPattern(pattern)
  const isLong = more ? words.length >= wanted.length : words.length === wanted.length
  return isLong && wanted.every((word, i) => word === words[i])
}

function commandPattern(pattern: string): { wanted: string[]; more: boolean } {
  const more = pattern.endsWith(' *')
  const wanted = simpleCommandWords(more ? pattern.slice(0, -2) : pattern)
  if (!wanted)
    throw new RockpoolError('input-invalid', `${JSON.stringify(pattern)} is not a simple command.`, {
      hint: 'A rule covers one program with its arguments, without pipes, variables, wildcards or redirections.',
    })
  return { wanted, more }
}

/** Tools that write one file, and the field that names it. */
const editTools: Readonly<Record<string, string>> = {
  Edit: 'file_path',
  MultiEdit: 'file_path',
  Write: 'file_path',
  NotebookEdit: 'notebook_path',
}

/** Files here make git or Claude Code run programs, so an edit of them is more than an edit. */
const neverEdited = new Set(['.git', '.claude', '.mcp.json', '.husky', '.githooks'])

function coversEdit({ folder }: RuleScope, { toolName, input, cwd = '/' }: Asked): boolean {
  const field = Object.hasOwn(editTools, toolName) ? editTools[toolName]! : ''
  const named = input[field]
  if (folder === undefined || typeof named !== 'string' || !isPlainPath(named)) return false
  const path = realFile(isAbsolute(named) ? named : resolve(cwd, named))
  if (path === undefined || !path.startsWith(folder.endsWith(sep) ? folder : folder + sep)) return false
  const below = path.slice(folder.length).split(sep)
  return !below.some((name) => neverEdited.has(name.toLowerCase()))
}

/** A path that every program reads in the same way; programs differ on `~` and on `..` after a link. */
function isPlainPath(path: string): boolean {
  return path !== '' && !/^~|\0/.test(path) && !path.split(sep).includes('..')
}

/** The real path of the file that a write would change; undefined if it is unknown, or if the file has a second name (a hard
 *  link). */
function realFile(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat) return stat.isFile() && stat.nlink === 1 ? realPath(path) : undefined
  // The file is new: its nearest folder that exists decides.
  const parent = dirname(path)
  const above = lstatSync(parent, { throwIfNoEntry: false }) ? realPath(parent) : realFolder(parent)
  return above === undefined ? undefined : join(above, basename(path))
}

function realFolder(path: string): string | undefined {
  const parent = dirname(path)
  if (parent === path) return undefined
  const above = lstatSync(parent, { throwIfNoEntry: false }) ? realPath(parent) : realFolder(parent)
  return above === undefined ? undefined : join(above, basename(path))
}

function realPath(path: string): string | undefined {
  // Fails for a dangling link, and without permission: a person decides.
  return attempt(() => realpathSync(path))
}

/** Makes a rule from a request, or from the words of a person. */
export type RuleScope = Pick<Grant, 'kind' | 'tool' | 'pattern' | 'folder'>

export function ruleFor(kind: RuleKind, request: Asked, folder?: string): RuleScope {
  const { toolName: tool, input, cwd = '/' } = request
  if (kind === 'exact') return { kind, tool, pattern: grantPattern(request) }
  if (kind === 'edits') {
    const file = input[editTools[tool] ?? '']
    if (typeof file !== 'string') throw notCovered('edits', `${tool} edits no file.`)
    return editsBelow(folder ?? repositoryRoot(realPath(cwd) ?? cwd))
  }
  const { command } = input
  if (tool !== 'Bash' || typeof command !== 'string') throw notCovered('command', `${tool} is no command.`)
  return commandIn(command, folder ?? cwd)
}

/** The kinds of rules that can be made from the request and would let it pass. */
export function possibleRules(request: Asked): RuleKind[] {
  if (request.kind !== 'tool') return []
  // No rule can be made where `ruleFor` throws, or where the files cannot be read.
  return ruleKinds.filter((kind) => attempt(() => covers(ruleFor(kind, request), request), false))
}

/** Programs that run what their arguments say. A rule for them names every argument. */
const wrappers = new Set(
  (
    'sh bash dash zsh fish ksh env sudo doas su xargs find parallel nohup nice ionice timeout watch ssh time stdbuf setsid strace ' +
    'chroot flock script npx pnpx bunx uvx awk gawk sed tee dd rm curl wget vi vim emacs'
  ).split(' '),
)
/** Programs with subcommands or scripts. A rule with `*` names at least that one, and no option before it. */
const namingMore =
  /^(?:git|npm|pnpm|yarn|cargo|go|make|docker|podman|kubectl|node|deno|bun|ruby|perl|php|lua|gh|python[\d.]*)$/

/** `words` may end with ` *`. */
export function commandIn(words: string, directory: string): RuleScope {
  const pattern = words.trim()
  const { wanted, more } = commandPattern(pattern)
  const [program = '', second = '-'] = wanted
  const name = basename(program)
  if (more && (wrappers.has(name) || (namingMore.test(name) && second.startsWith('-'))))
    throw notCovered('command', `A rule for \`${pattern}\` would cover almost anything.`)
  return { kind: 'command', tool: 'Bash', pattern, folder: repositoryRoot(existing(directory)) }
}

export function editsBelow(directory: string): RuleScope {
  const folder = existing(directory)
  if (folder === '/' || folder === realPath(homedir()))
    throw notCovered('edits', `${folder} is too much for a rule.`)
  return { kind: 'edits', tool: 'Edit', pattern: '', folder }
}

function existing(directory: string): string {
  const real = realPath(directory)
  if (real !== undefined && lstatSync(real).isDirectory()) return real
  throw new RockpoolError('not-found', `${directory} is not a directory.`, {
    hint: 'Give a directory that exists.',
  })
}

function notCovered(kind: RuleKind, message: string): RockpoolError {
  return new RockpoolError('input-invalid', message, {
    hint:
      kind === 'edits'
        ? 'Give a folder of the repository.'
        : 'Name the command more exactly: `git status *`.',
  })
}

/** One line for lists and answers. */
export function describeRule({ kind, tool, pattern, folder, until }: Grant): string {
  const what =
    kind === 'command'
      ? `${pattern} in ${folder}`
      : kind === 'edits'
        ? `edits below ${folder}`
        : `exactly ${tool} ${pattern}`
  return until === undefined ? what : `${what}, until ${new Date(until).toISOString()}`
}
