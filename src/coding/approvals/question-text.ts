// The text of a question to a person, and what exactly an approval covers.
import { createHash } from 'node:crypto'
import { isAbsolute, relative } from 'node:path'
import { z } from 'zod'
import type { PermissionRequest } from '../../domain/agent.ts'
import type { Approval, Script } from '../../domain/coding-session.ts'
import { lineDiff } from '../../domain/line-diff.ts'
import { oneLine } from '../session/names.ts'
import { scriptsIn } from './scripts.ts'

/** A permission request of Claude's, or our own question about the budget. */
export type QuestionRequest = Omit<PermissionRequest, 'kind'> & Pick<Approval, 'kind' | 'scripts'>

type Asked = Pick<QuestionRequest, 'toolName' | 'input' | 'cwd' | 'scripts'>

/** The request with the scripts that its command would run, as they are now. */
export async function withScripts(request: QuestionRequest): Promise<QuestionRequest> {
  const { kind, cwd, input } = request
  if (kind !== 'tool' || cwd === undefined || typeof input['command'] !== 'string') return request
  return { ...request, scripts: await scriptsIn(input['command'], cwd) }
}

export function requestHash(request: QuestionRequest): string {
  // A question has no place in its hash, so that one answer can answer identical questions of sessions in other directories.
  const place = request.kind === 'question' ? undefined : placeOf(request)
  const exact = JSON.stringify([request.toolName, request.input, place])
  return createHash('sha256').update(exact).digest('hex')
}

interface Place {
  directory: string
  scripts?: Script[]
}

/** Tools that do the same in every directory if their path is absolute. */
const placeless = new Set(['Read', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit', 'WebFetch', 'WebSearch'])

/** The directory of the tool call and the scripts that it would run; undefined for tools that depend on neither. */
function placeOf({ toolName, input, cwd, scripts = [] }: Asked): Place | undefined {
  const path = input['file_path'] ?? input['notebook_path'] ?? '/'
  const isPlaceless = placeless.has(toolName) && typeof path === 'string' && isAbsolute(path)
  if (cwd === undefined || isPlaceless) return undefined
  return { directory: cwd, scripts: scripts.length === 0 ? undefined : scripts }
}

const noPlan = 'Claude wants to start without a written plan; see its last message.'

/** Every field of the request, and where it would happen. Control characters stay; what displays the text makes them visible. */
export function displayText(request: QuestionRequest): string {
  return [requestText(request), ...placeLines(request)].join('\n')
}

/** The request without the directory. */
export function requestText(request: Pick<QuestionRequest, 'kind' | 'toolName' | 'input'>): string {
  const { toolName, input } = request
  if (request.kind === 'question') return questionText(input)
  if (request.kind === 'plan') return withRest(typeof input['plan'] === 'string' ? 'plan' : undefined, input)
  if (typeof input['command'] === 'string') return withRest('command', input)
  return editText(toolName, input) ?? `${toolName} ${JSON.stringify(input, null, 2)}`
}

/** For lists, where one line has to be enough: the command, the file of an edit, the first line of a question or a plan. */
export function requestLine(request: Pick<QuestionRequest, 'kind' | 'toolName' | 'input'>): string {
  const { command } = request.input
  const text = typeof command === 'string' ? command : requestText(request).split('\n', 1)[0]!
  return oneLine(text, 200)
}

function placeLines(request: QuestionRequest): string[] {
  const place = request.kind === 'tool' ? placeOf(request) : undefined
  if (!place) return []
  const { directory, scripts = [] } = place
  const nameOf = (path: string): string =>
    relative(directory, path).startsWith('..') ? path : relative(directory, path)
  return [
    `directory: ${JSON.stringify(directory)}`,
    ...scripts.map(
      ({ path, sha256 }) => `script: ${JSON.stringify(nameOf(path))} sha256 ${sha256.slice(0, 12)}`,
    ),
  ]
}

/** The most important field as it is; the other fields stand below it, quoted, so that none can be hidden. */
function withRest(main: 'plan' | 'command' | undefined, input: Record<string, unknown>): string {
  const rest = Object.entries(input).filter(([field]) => field !== main && field !== 'planFilePath')
  const lines = rest.map(([field, value]) => `${field}: ${JSON.stringify(value)}`)
  return [main === undefined ? noPlan : String(input[main]), ...lines].join('\n')
}

const edit = z.strictObject({
  old_string: z.string(),
  new_string: z.string(),
  replace_all: z.boolean().optional(),
})
const file_path = z.string()
const editShapes = {
  Edit: edit.extend({ file_path }),
  MultiEdit: z.strictObject({ file_path, edits: z.array(edit) }),
  Write: z.strictObject({ file_path, content: z.string() }),
}

/** An edit of a file as a difference, line by line. Undefined if the tool is not an edit, or if its input has a field that a
 *  difference would hide. */
function editText(toolName: string, input: Record<string, unknown>): string | undefined {
  if (toolName === 'Write') {
    const { data } = editShapes.Write.safeParse(input)
    return data && diffText(`Write ${data.file_path} (the whole file)`, '', data.content)
  }
  if (toolName === 'MultiEdit') {
    const { data } = editShapes.MultiEdit.safeParse(input)
    return data && editsText(data.file_path, data.edits)
  }
  const { data } = toolName === 'Edit' ? editShapes.Edit.safeParse(input) : {}
  return data && editsText(data.file_path, [data])
}

function editsText(path: string, edits: Array<z.infer<typeof edit>>): string {
  return edits
    .map(({ old_string: before, new_string: after, replace_all: all }) =>
      diffText(`Edit ${path}${all ? ' (every occurrence)' : ''}`, before, after),
    )
    .join('\n')
}

function diffText(heading: string, before: string, after: string): string {
  return [heading, ...lineDiff(before, after).map(({ sign, line }) => `${sign} ${line}`)].join('\n')
}

function questionText(input: Record<string, unknown>): string {
  return questionsOf(input)
    .map((question) =>
      [
        `${question.question}${question.several ? ' (several choices are possible: 1,2)' : ''}`,
        ...question.options.map((label, i) => {
          const description = question.descriptions[i]
          return `${i + 1}. ${label}${description === '' ? '' : `: ${description}`}`
        }),
      ].join('\n'),
    )
    .join('\n\n')
}

export interface AskedQuestion {
  question: string
  options: string[]
  /** The meaning of each option; empty where Claude wrote nothing. */
  descriptions: string[]
  /** More than one option may be chosen. */
  several: boolean
}

interface Option {
  label?: unknown
  description?: unknown
}

/** Reads the input of `AskUserQuestion`; leaves out what has another shape. */
export function questionsOf(input: Record<string, unknown>): AskedQuestion[] {
  const questions: unknown[] = Array.isArray(input['questions']) ? input['questions'] : []
  return questions.flatMap((raw) => {
    const fields = raw as { question?: unknown; options?: Option[]; multiSelect?: unknown }
    if (typeof fields.question !== 'string') return []
    const options = Array.isArray(fields.options) ? fields.options : []
    return [
      {
        question: fields.question,
        options: options.map(({ label }) => String(label)),
        descriptions: options.map(({ description }) => (typeof description === 'string' ? description : '')),
        several: fields.multiSelect === true,
      },
    ]
  })
}

/** Fields that do not change what a tool does, and differ from call to call. */
const irrelevant: Readonly<Record<string, readonly string[]>> = { Bash: ['description', 'timeout'] }
const decidingAlone = new Set(['command', 'file_path', 'url'])
const maxPatternChars = 500

/** What "always" covers: exactly this input, in this directory, with these scripts. If a single field decides, the pattern is
 *  the value of that field. */
export function grantPattern(asked: Asked): string {
  const { toolName, input } = asked
  const deciding = Object.entries(input)
    .filter(([field]) => !irrelevant[toolName]?.includes(field))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const place = placeOf(asked)
  if (place) return shortened(JSON.stringify({ ...place, input: Object.fromEntries(deciding) }))
  const [[field, value] = []] = deciding
  const isAlone = deciding.length === 1 && typeof value === 'string' && decidingAlone.has(field ?? '')
  // A command that looks like a JSON input must not be mistaken for one.
  if (isAlone && !value.startsWith('{')) return value
  return shortened(JSON.stringify(Object.fromEntries(deciding)))
}

function shortened(exact: string): string {
  if (exact.length <= maxPatternChars) return exact
  const sum = createHash('sha256').update(exact).digest('hex')
  return `${exact.slice(0, maxPatternChars).toWellFormed()}… sha256:${sum}`
}
