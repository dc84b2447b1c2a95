// Reads a shell command that is plainly simple: one program and its arguments. A permission rule covers only such commands. A
// person decides on every other command: lists, pipes, redirections, substitutions, variables, wildcards, assignments, comments,
// escapes, several lines, and anything that this file does not understand, even if it looks harmless.

/** Characters that mean only themselves to every shell. */
const plain = /[A-Za-z0-9_@%+=:,./-]/
/** Inside of single quotes a shell changes nothing; in double quotes only these have a meaning. */
const specialInDouble = /[$`\\!"]/
/** Control and format characters, and separators other than the space: they hide text, or split it. */
const hidden = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u

/** Words of the shell itself, which start something else than a program. */
const keywords = new Set(
  (
    'if then elif else fi for while until do done case esac select function time coproc in eval exec command builtin source ' +
    '. alias unalias trap set export declare typeset readonly local unset enable hash shopt bind complete'
  ).split(' '),
)

/** The words of the command without quotes; undefined if the command is not plainly simple. */
export function simpleCommandWords(command: string): string[] | undefined {
  const words: string[] = []
  let rest = command.replace(/^ +| +$/g, '')
  while (rest !== '') {
    const word = readWord(rest)
    if (!word) return undefined
    words.push(word.text)
    rest = rest.slice(word.length).replace(/^ +/, '')
  }
  const [program = ''] = words
  // An assignment before the program, or an empty name.
  return program === '' || program.includes('=') || keywords.has(program) ? undefined : words
}

/** The first word, and how many characters it takes. */
function readWord(text: string): { text: string; length: number } | undefined {
  let word = ''
  let at = 0
  while (at < text.length && text[at] !== ' ') {
    const piece = text[at] === "'" || text[at] === '"' ? readQuoted(text, at) : text[at]!
    const isQuoted = piece !== text[at]
    if (piece === undefined || (!isQuoted && !plain.test(piece))) return undefined
    word += isQuoted ? piece.slice(1, -1) : piece
    at += piece.length
  }
  return { text: word, length: at }
}

/** With its quotes; undefined if it does not end, or contains what the shell or a person would read differently. */
function readQuoted(text: string, start: number): string | undefined {
  const quote = text[start]!
  const end = text.indexOf(quote, start + 1)
  if (end < 0) return undefined
  const inner = text.slice(start + 1, end)
  if (hidden.test(inner) || (quote === '"' && specialInDouble.test(inner))) return undefined
  return text.slice(start, end + 1)
}
