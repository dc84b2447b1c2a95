// What the benches ask: one to three words, a phrase, a beginning, an accent, a number, a whole sentence, one that is searched by
// meaning too, because no message has most of its words. No two questions share a word: each is asked for the first time.
export const questions = [
  'parser',
  'branch names',
  '"every token"',
  'größer',
  'helper renamed file',
  'cach*',
  'Task 42',
  'review tests logs',
  'why does it read all paths twice without checking the sum before, because of that',
  'vehicles that refuse to start 77 times during winter mornings',
]

/** No message has any of the words: it is searched by meaning, and in the tool texts. */
export const questionsBySense = ['vehicles that refuse to start during winter mornings']

/** Only one of the oldest tool texts has it. */
export const oldToolWord = 'zygodactylous'

export const prefixes = ['pars*', 'renam* paths', 'rev* tok*', 'task 12*']

/** Expressions with letters that every match has: many matches, few, and one. */
export const patterns = [
  'pars\\w+ reads',
  'task \\d+:',
  '(token|branch) names?',
  '^And then r\\w+s',
  'gr(ö|oe)(ß|ss)er —',
  'task 77[0-9]: ',
]

/** No message matches: it is tried on the tool texts too. */
export const patternsOfNothing = ['TODO\\(\\w+\\)|FIXME']

/** Every passage may match. */
export const patternsWithoutLetters = ['\\d{4}', '^\\w+ \\d+: r']
