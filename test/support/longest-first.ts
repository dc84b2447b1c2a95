// The order of test files. A long file that begins last would keep one worker busy while the others wait, and Vitest knows how
// long a file takes only from an earlier run; without one it begins with the largest.
import { basename } from 'node:path'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Files that are short to read and long to run, the longest first. The soak takes half an hour. */
const longFiles = [
  'soak',
  'machines',
  'trim',
  'crash',
  'telegram-storm',
  'mail-storm',
  'store-storms',
  'transcript-crash',
  'coding-claude',
  'agent-trouble',
  'dashboard',
  'command-line',
  'pairs',
  'power-cut',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = longFiles.indexOf(basename(moduleId, '.test.ts'))
  return rank < 0 ? longFiles.length : rank
}
