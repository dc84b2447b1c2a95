// A Markdown block for a pull request: which sessions wrote how much, and what that cost. Prompts are private, and are included only
// on request.
import type {
  CommitAnswer,
  Contribution,
  FileAnswer,
  LineAnswer,
  PullRequestAnswer,
} from '../domain/why-answers.ts'
import { formatUsd, plainLine } from '../domain/text.ts'

type Answer = LineAnswer | CommitAnswer | PullRequestAnswer | FileAnswer

const promptChars = 500

export function annotate(answer: Answer, withPrompts: boolean): string {
  const rows = rowsOf(answer)
  if (rows.length === 0) return `**Written by** no known session (${subjectOf(answer)}).\n`
  const known = rows.reduce((sum, { lines }) => sum + lines, 0)
  const total = 'lines' in answer ? answer.lines : answer.endLine - answer.line + 1
  const table = rows.map(({ sessionId, lines, costUsd, title }) => {
    const name = withPrompts
      ? `${cell(title)} (\`${sessionId.slice(0, 8)}\`)`
      : `\`${sessionId.slice(0, 8)}\``
    return `| ${name} | ${lines} | ${formatUsd(costUsd)} |`
  })
  const prompts = rows.flatMap(({ sessionId, prompt }) =>
    withPrompts && prompt ? [`> **\`${sessionId.slice(0, 8)}\`**: ${cell(prompt)}`, ''] : [],
  )
  return [
    `**Sessions of ${subjectOf(answer)}**: ${known} of ${total} ${total === 1 ? 'line' : 'lines'}`,
    '',
    '| session | lines | cost of the session |',
    '|---|---:|---:|',
    ...table,
    '',
    ...prompts,
  ].join('\n')
}

type Row = Pick<Contribution, 'sessionId' | 'title' | 'lines' | 'costUsd' | 'prompt'>

function rowsOf(answer: Answer): Row[] {
  if (answer.kind !== 'line') return answer.sessions
  if (!answer.session) return []
  return [{ ...answer.session, lines: answer.endLine - answer.line + 1, prompt: answer.prompt }]
}

function subjectOf(answer: Answer): string {
  if (answer.kind === 'pr') return `pull request ${answer.number}`
  if (answer.kind === 'commit') return `commit ${answer.commit.sha.slice(0, 10)}`
  return answer.kind === 'file' ? `\`${answer.file}\`` : `\`${answer.file}:${answer.line}\``
}

/** Markup in a prompt or a title must not change the block. */
function cell(text: string): string {
  return plainLine(text, promptChars).replaceAll(/[\\|<>`*_[\]]/g, String.raw`\$&`)
}
