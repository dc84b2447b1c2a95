// The request of a session, shown as its effect: an edit as a difference, a command with its description, a question with its
// options, a plan as text. Everything of the request is shown: a person must see all of it before approving it.
import type { Approval } from '../data.ts'
import { visible } from '../format.ts'
import { Changes, Code } from './code.tsx'
import { isShownWhole, Markdown } from './markdown.tsx'

export function headingOf({ kind, toolName, input, cwd }: Approval): string {
  if (kind === 'plan') return 'Plan awaits your approval'
  if (kind === 'budget') return 'Its budget is used up'
  if (kind === 'question') return 'Asks you'
  if (typeof input['command'] === 'string') return 'Wants to run a command'
  const path = input['file_path'] ?? input['notebook_path']
  if (typeof path !== 'string') return `Wants to use ${visible(toolName)}`
  const verb = { Write: 'write', Read: 'read' }[toolName] ?? 'edit'
  return `Wants to ${verb} ${visible(shortened(path, cwd))}`
}

export function Request({ approval }: { approval: Approval }) {
  const { kind, input, toolName, shown } = approval
  if (kind === 'question') return <Questions approval={approval} />
  if (kind === 'plan' && typeof input['plan'] === 'string') return <Plan text={visible(input['plan'])} />
  if (kind === 'plan')
    return <p class="asked">Claude wants to start without a written plan; see its last message.</p>
  if (typeof input['command'] === 'string') return <Command approval={approval} command={input['command']} />
  if (isChange(toolName, input)) {
    return (
      <div class="asked">
        <Changes input={input} />
        <Rest of={restOf(input)} />
      </div>
    )
  }
  return <pre class="asked">{visible(shown)}</pre>
}

function Plan({ text }: { text: string }) {
  if (!isShownWhole(text)) return <pre class="asked">{text}</pre>
  return (
    <div class="asked">
      <Markdown text={text} />
    </div>
  )
}

const changing = new Set(['Edit', 'MultiEdit', 'Write'])

function isChange(toolName: string, input: Record<string, unknown>): boolean {
  return changing.has(toolName) && ['new_string', 'content', 'edits'].some((field) => field in input)
}

const drawn = new Set(['old_string', 'new_string', 'content', 'edits', 'file_path'])

function restOf(input: Record<string, unknown>): string[] {
  return Object.entries(input).flatMap(([field, value]) =>
    drawn.has(field) && field !== 'file_path' ? [] : [`${field}: ${JSON.stringify(value)}`],
  )
}

function Command({ approval, command }: { approval: Approval; command: string }) {
  const { input, shown } = approval
  const description = typeof input['description'] === 'string' ? input['description'] : undefined
  // The text of the request begins with the command; the other fields and the place stand below it.
  const below = shown.startsWith(command) ? shown.slice(command.length).split('\n') : [shown]
  const rest = below.filter((line) => line !== '' && line !== `description: ${JSON.stringify(description)}`)
  return (
    <div class="asked">
      {description !== undefined && <p class="described">{visible(description)}</p>}
      <Code text={command} language="sh" />
      <Rest of={rest} />
    </div>
  )
}

function Rest({ of }: { of: string[] }) {
  if (of.length === 0) return null
  return <pre class="faint rest">{visible(of.join('\n'))}</pre>
}

interface Question {
  question: string
  multiSelect?: boolean
  options?: Array<{ label: string; description?: string }>
}

/** The options of a single question with one answer are buttons; see `decision.tsx`. */
function Questions({ approval }: { approval: Approval }) {
  const questions = questionsOf(approval)
  if (questions.length === 0) return <pre class="asked">{visible(approval.shown)}</pre>
  return (
    <div class="asked">
      {questions.map(({ question, options = [], multiSelect }) => (
        <div key={question}>
          <p class="question">
            {visible(question)}
            {multiSelect === true && <span class="faint"> (several choices are possible: 1,2)</span>}
          </p>
          {approval.choices.length === 0 && (
            <ol>
              {options.map(({ label, description }) => (
                <li key={label}>
                  {visible(label)}
                  {description && <span class="faint"> {visible(description)}</span>}
                </li>
              ))}
            </ol>
          )}
        </div>
      ))}
    </div>
  )
}

/** Questions in the form of Claude Code; other input is shown as text. */
function questionsOf({ input }: Approval): Question[] {
  const questions: unknown[] = Array.isArray(input['questions']) ? input['questions'] : []
  return questions.filter(
    (one): one is Question => typeof one === 'object' && one !== null && 'question' in one,
  )
}

export function descriptionOf(approval: Approval, choice: string): string | undefined {
  const options = questionsOf(approval)[0]?.options
  return Array.isArray(options) ? options.find(({ label }) => label === choice)?.description : undefined
}

function shortened(path: string, root: string | undefined): string {
  return root !== undefined && path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path
}
