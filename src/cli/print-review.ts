// The review of a coding session: its changes as a diff, after commits, tests and last words.
import type { OutputOf } from '../rpc/client.ts'
import { count, oneLine, prose, styled, visible } from './print.ts'
import type { Page, Printers } from './print.ts'

export const printers: Printers = {
  'coding.review': (review, page) =>
    [
      ...facts(review, page),
      ...sharedFolder(review).map((line) => styled(page, 'yellow', line)),
      ...review.files.flatMap(({ patch }) => (patch === '' ? [] : [colored(patch, page)])),
      ...review.problems.map((problem) => styled(page, 'yellow', oneLine(problem))),
    ].join('\n'),
}

function facts(review: OutputOf<'coding.review'>, page: Page): string[] {
  const { name, state, branch, files, commits, tests, lastWords, otherSessions } = review
  const where = branch === undefined ? '' : ` on ${oneLine(branch)}`
  return [
    `${styled(page, 'bold', oneLine(name))} (${state})${where}: ${count(files.length, 'file')}, ${count(commits.length, 'commit')}`,
    ...commits.map(({ commit, subject }) => `  ${commit.slice(0, 10)} ${oneLine(subject)}`),
    ...tests.map(({ command, outcome }) =>
      styled(page, outcome === 'failed' ? 'red' : 'dim', `  ${outcome}: ${oneLine(command)}`),
    ),
    ...files.map(({ path, change, added, removed, note, own }) => {
      const lines = added === undefined ? '' : ` +${added} -${removed ?? 0}`
      const marks = [own && otherSessions.length > 0 ? 'its own edit' : '', oneLine(note ?? '')].filter(
        Boolean,
      )
      return `  ${change.padEnd(8)} ${oneLine(path)}${lines}${marks.length === 0 ? '' : ` (${marks.join('; ')})`}`
    }),
    ...(lastWords === '' ? [] : ['', prose(visible(lastWords), page)]),
    '',
  ]
}

const mostNamed = 10

/** Where other sessions worked in the same folder, git cannot tell whose changes these are. */
function sharedFolder({ name, otherSessions }: OutputOf<'coding.review'>): string[] {
  if (otherSessions.length === 0) return []
  const more = otherSessions.length - mostNamed
  const names = otherSessions.slice(0, mostNamed).map((other) => oneLine(other.name))
  const all = [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ')
  return [
    `Other sessions worked in this folder since ${oneLine(name)} began: ${all}. The changes may be theirs, except where a file says "its own edit".`,
    '',
  ]
}

function colored(patch: string, page: Page): string {
  return visible(patch)
    .trimEnd()
    .split('\n')
    .map((line) => {
      if (/^(?:diff |index |new file|deleted file|--- |\+\+\+ )/.test(line)) return styled(page, 'bold', line)
      if (line.startsWith('+')) return styled(page, 'green', line)
      return line.startsWith('-') ? styled(page, 'red', line) : line
    })
    .join('\n')
}
