// `rockpool why`: the session behind a line, a file, a commit or a pull request.
import { shellWord } from '../domain/text.ts'
import type { OutputOf } from '../rpc/client.ts'
import {
  ago,
  count,
  oneLine,
  pad,
  pairs,
  safe,
  styled,
  table,
  truncate,
  usd,
  visible,
  wrapped,
} from './print.ts'
import type { Columns, Page, Printers, Style } from './print.ts'

type Answer = OutputOf<'why.ask'>
type Line = Extract<Answer, { kind: 'line' }>
type Commit = Extract<Answer, { kind: 'commit' }>
type PullRequest = Extract<Answer, { kind: 'pr' }>
type File = Extract<Answer, { kind: 'file' }>
type PastEdit = Line['earlier'][number]
type Session = NonNullable<Line['session']>

export const printers: Printers = {
  'why.ask': (answer, page) => {
    if (answer.markdown !== undefined) return visible(answer.markdown).trimEnd()
    const { note } = answer
    return [printAnswer(answer, page), ...(note ? [wrapped(styled(page, 'dim', note), page)] : [])].join('\n')
  },
  'why.session': (lines, page) =>
    livingLines(lines, page).join('\n') || 'Nothing of this session is in HEAD.',
}

function printAnswer(answer: Answer, page: Page): string {
  if (answer.kind === 'line') return printLine(answer, page)
  if (answer.kind === 'commit') return printCommit(answer, page)
  return answer.kind === 'pr' ? printPullRequest(answer, page) : printFile(answer, page)
}

const styles: Record<Line['confidence'], Style> = { exact: 'green', likely: 'yellow', unknown: 'dim' }
const linesShown = 6
const segmentsShown = 60
const pastShown = 3
const saidChars = 300

function printLine(answer: Line, page: Page): string {
  const { session, guess, said, decisions, earlier, later, alternatives } = answer
  const place = answer.line === answer.endLine ? `${answer.line}` : `${answer.line}-${answer.endLine}`
  return [
    styled(page, 'bold', truncate(oneLine(`${answer.file}:${place}`), page.width)),
    codeLines(answer.text.split('\n'), page),
    verdictLine(answer, page),
    pairs(page, {
      session: session && sessionName(session),
      'best guess': guess && `${sessionName(guess)} (not certain)`,
      commit: answer.commit ? commitName(answer.commit, page) : 'not committed',
      edited: answer.at === undefined ? undefined : ago(answer.at, page.now),
      'sub-agent': answer.subagent,
      prompt: answer.prompt && oneLine(answer.prompt),
      ...Object.fromEntries(
        decisions.map(({ kind, text, answer: said }, i) => [
          decisions.length > 1 ? `${kind} ${i + 1}` : kind,
          oneLine(said === undefined ? text : `${text} → ${said}`),
        ]),
      ),
      'said before': said && truncate(oneLine(said), saidChars),
      command: answer.command && oneLine(answer.command),
      'turn cost': answer.costUsd === undefined ? undefined : usd(answer.costUsd),
      'or by': alternatives.length > 0 ? alternatives.map(sessionName).join(' · ') : undefined,
    }),
    ...(answer.segments.length > 1 ? [printSegments(answer.segments, new Map(), page)] : []),
    ...pastLines('Before that', earlier, page),
    ...pastLines('Changed since', later, page),
    ...(session ? [continueHint(session, answer.message, page)] : []),
  ].join('\n')
}

function verdictLine({ confidence, reason }: Pick<Line, 'confidence' | 'reason'>, page: Page): string {
  return wrapped(`${styled(page, styles[confidence], confidence)}  ${oneLine(reason)}`, page)
}

function sessionName({ sessionId, title }: Session): string {
  return safe`${sessionId.slice(0, 8)} ${title}`.trim()
}

function commitName({ sha, subject, author, at }: NonNullable<Line['commit']>, { now }: Page): string {
  return safe`${sha.slice(0, 10)} ${subject} (${author}, ${ago(at, now)})`
}

function codeLines(lines: readonly string[], page: Page): string {
  const shown = lines
    .slice(0, linesShown)
    .map((line) => truncate(`  ${visible(line).replaceAll('\t', '  ')}`, page.width))
  const more = lines.length - shown.length
  return [...shown, ...(more > 0 ? [styled(page, 'dim', `  … ${count(more, 'more line')}`)] : [])].join('\n')
}

function pastLines(title: string, edits: readonly PastEdit[], page: Page): string[] {
  if (edits.length === 0) return []
  const more = edits.length - pastShown
  return [
    '',
    styled(page, 'bold', title),
    ...edits.slice(0, pastShown).map((edit) => pastEdit(edit, page)),
    ...(more > 0
      ? [styled(page, 'dim', `  … and ${count(more, 'more edit')}; --json has all of them.`)]
      : []),
  ]
}

/** Where it was, and the first lines that it removed and added. */
function pastEdit({ session, at, removed, added, isGone }: PastEdit, page: Page): string {
  const change = (sign: string, style: Style, lines: readonly string[]): string[] =>
    lines
      .filter((line) => line.trim() !== '')
      .slice(0, 3)
      .map((line) => styled(page, style, truncate(`    ${sign} ${visible(line).trim()}`, page.width)))
  const note = isGone ? ', nothing of it is left' : ''
  return [
    truncate(`  ${ago(at, page.now)}${note}: ${sessionName(session)}`, page.width),
    ...change('-', 'red', removed),
    ...change('+', 'green', added),
  ].join('\n')
}

function continueHint({ sessionId }: Session, message: string | undefined, page: Page): string {
  const id = shellWord(sessionId.slice(0, 8))
  const around = message === undefined ? '' : ` --around ${shellWord(message)}`
  const hint = [safe`Read it: rockpool cc read ${id}${around}`, safe`Continue: rockpool cc resume ${id} "…"`]
  return `\n${styled(page, 'dim', hint.join('\n'))}`
}

function printCommit(answer: Commit, page: Page): string {
  const { commit, sessions, lines, unknownLines, guess, session } = answer
  return [
    styled(page, 'bold', truncate(oneLine(commitName(commit, page)), page.width)),
    verdictLine(answer, page),
    pairs(page, {
      session: session && sessionName(session),
      'best guess': guess && `${sessionName(guess)} (not certain)`,
      lines: `${count(lines, 'line')} added, ${unknownLines} by no known session`,
    }),
    ...(sessions.length > 0 ? ['', table(page, sessions, contributionColumns(page))] : []),
    ...(answer.files.length > 1 ? ['', table(page, answer.files.slice(0, 20), fileColumns)] : []),
    ...(session ? [continueHint(session, sessions[0]?.message, page)] : []),
  ].join('\n')
}

function contributionColumns({ now }: Page): Columns<Commit['sessions'][number]> {
  return {
    SESSION: { value: (row) => row.sessionId.slice(0, 8), min: 8, style: 'dim' },
    LINES: { value: (row) => String(row.lines), align: 'right', min: 5 },
    TITLE: { value: (row) => row.title, min: 10 },
    PROMPT: { value: (row) => row.prompt ?? '', min: 12, optional: true },
    AGE: { value: (row) => ago(row.at, now).replace(/ ago$/, ''), align: 'right', min: 5, optional: true },
    TURN: { value: (row) => usd(row.turnCostUsd), align: 'right', min: 6 },
  }
}

const fileColumns: Columns<Commit['files'][number]> = {
  FILE: { value: (row) => row.file, min: 12 },
  LINES: { value: (row) => String(row.lines), align: 'right', min: 5 },
  SESSIONS: {
    value: (row) =>
      Object.entries(row.sessions)
        .map(([id, lines]) => `${id.slice(0, 8)} ${lines}`)
        .join(', ') || 'unknown',
    min: 10,
  },
}

function printPullRequest(
  { number, title, commits, sessions, missing, lines, unknownLines }: PullRequest,
  page: Page,
): string {
  const note =
    missing > 0
      ? [styled(page, 'yellow', `${count(missing, 'commit')} of it are not in this repository.`)]
      : []
  return [
    styled(page, 'bold', truncate(oneLine(`#${number} ${title}`), page.width)),
    `${count(lines, 'line')} added, ${unknownLines} by no known session.`,
    ...note,
    ...(sessions.length > 0 ? ['', table(page, sessions, contributionColumns(page))] : []),
    '',
    table(page, commits, {
      COMMIT: { value: (row) => row.sha.slice(0, 10), min: 10, style: 'dim' },
      SUBJECT: { value: (row) => row.subject, min: 12 },
      SESSION: { value: (row) => row.sessionId?.slice(0, 8) ?? 'unknown', min: 8 },
      LINES: { value: (row) => String(row.lines), align: 'right', min: 5 },
    }),
  ].join('\n')
}

function printFile({ file, lines, sessions, segments, texts }: File, page: Page): string {
  const known = sessions.reduce((sum, one) => sum + one.lines, 0)
  const titles = new Map(sessions.map((session) => [session.sessionId, session.title]))
  const title = styled(page, 'bold', truncate(oneLine(file), page.width))
  if (lines === 0) return `${title}\nThe file is empty.`
  return [
    title,
    sessions.length === 0
      ? `${count(lines, 'line')}; no session is known to have written any of it.`
      : `${known} of ${count(lines, 'line')} by ${count(sessions.length, 'session')}.`,
    ...(sessions.length > 0
      ? [
          '',
          table(page, sessions, {
            SESSION: { value: (row) => row.sessionId.slice(0, 8), min: 8, style: 'dim' },
            LINES: { value: (row) => String(row.lines), align: 'right', min: 5 },
            TITLE: { value: (row) => row.title, min: 12 },
            COST: { value: (row) => usd(row.costUsd), align: 'right', min: 7 },
          }),
        ]
      : []),
    '',
    texts ? printTexts(segments, texts, page) : printSegments(segments, titles, page),
  ].join('\n')
}

/** With `--text`: each line beside its session. */
function printTexts(segments: File['segments'], texts: readonly string[], page: Page): string {
  const digits = String(texts.length).length
  return segments
    .flatMap(({ from, to, sessionId, confidence }) => {
      const session = styled(page, styles[confidence], pad(oneLine(sessionId?.slice(0, 8) ?? 'unknown'), 8))
      return texts.slice(from - 1, to).map((text, i) => {
        const shown = truncate(visible(text).replaceAll('\t', '  '), page.width - digits - 12)
        return `${pad(String(from + i), digits, 'right')}  ${session}  ${shown}`.trimEnd()
      })
    })
    .join('\n')
}

function printSegments(segments: File['segments'], titles: ReadonlyMap<string, string>, page: Page): string {
  const shown = segments.slice(0, segmentsShown)
  const more = segments.length - shown.length
  return [
    table(page, shown, {
      LINES: { value: ({ from, to }) => (from === to ? `${from}` : `${from}-${to}`), align: 'right', min: 7 },
      COMMIT: { value: ({ sha }) => sha?.slice(0, 10) ?? '(new)', min: 10, style: 'dim' },
      SESSION: {
        value: ({ sessionId }) => sessionId?.slice(0, 8) ?? 'unknown',
        min: 8,
        style: ({ confidence }) => styles[confidence],
      },
      TITLE: { value: ({ sessionId }) => titles.get(sessionId ?? '') ?? '', min: 8, optional: true },
    }),
    ...(more > 0 ? [styled(page, 'dim', `… and ${count(more, 'more part')}; --json has all of them.`)] : []),
  ].join('\n')
}

/** Also for `cc info`. */
export function livingLines(lines: OutputOf<'why.session'>, page: Page): string[] {
  const { commits, files, aliveLines, uncommittedLines, filesLeftOut } = lines
  if (commits.length === 0 && files.length === 0) return []
  const fresh = uncommittedLines > 0 ? `, ${uncommittedLines} not committed` : ''
  return [
    `${count(aliveLines, 'line')} of this session in HEAD${fresh}`,
    ...commits
      .slice(0, 10)
      .map(({ sha, subject, lines: own }) =>
        truncate(safe`  ${sha.slice(0, 10)} ${subject} (${count(own, 'line')})`, page.width),
      ),
    ...files.slice(0, 10).map(({ file, lines: own, segments }) => {
      const places = segments.slice(0, 4).map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`))
      return truncate(
        safe`  ${file}: ${count(own, 'line')} (${places.join(', ')}${segments.length > 4 ? ', …' : ''})`,
        page.width,
      )
    }),
    ...(filesLeftOut > 0 ? [`  ${count(filesLeftOut, 'more file')} were not looked at.`] : []),
  ]
}
