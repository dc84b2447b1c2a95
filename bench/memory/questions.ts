// What the benches ask: one to three words, a phrase, a beginning, an accent, a number, a whole sentence, and one whose words
// are in no session, which is searched by meaning.
export const questions = [
  'parser',
  'branch names',
  '"every token"',
  'größer',
  'helper renamed file',
  'cach*',
  'Task 42',
  'review tests logs',
  'why does the helper read every file twice before the review',
  'vehicles that refuse to start during winter mornings',
]

/** Each is asked once, and has words that no other question has: the gateway does not know their passages yet. */
export const firstAsked = [
  'because',
  'renamed before',
  '"was cached"',
  'without checking tests',
  'sum of the logs',
  'paths reads twice',
  'checking or sum*',
  'what was the sum of names without logs because of the paths',
]

export const prefixes = ['cach*', 'pars*', 'rev* tok*', 'task 12*']

export const patterns = ['pars\\w+ reads', 'task \\d+:', '(token|branch) names?']
