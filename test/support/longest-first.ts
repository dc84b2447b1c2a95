// The order of test files. A long file that begins last would keep one worker busy while the others wait, and Vitest knows how
// long a file takes only from an earlier run; without one it begins with the largest.
import { basename } from 'node:path'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Of test/full, the longest first. The soak takes half an hour. */
const longFullTests = [
  'soak',
  'outage',
  'machines',
  'openclaw-install',
  'openclaw-plugin',
  'schedules-month',
  'crash',
  'store-storms',
  'mail-storm',
  'transcript-crash',
  'trim',
  'coding-machines',
  'syscall-sweep',
  'dashboard',
  'vault-machines',
  'agent-storm',
  'journeys',
  'coding-program',
  'telegram-storm',
  'usage-limit',
  'agent-programs',
  'failover',
  'power-cut',
]

/** Of the default run, the longest first, as far as their size does not say so. */
const longDefaultTests = [
  'dashboard',
  'coding-claude',
  'agent-trouble',
  'command-line',
  'postgres-stores',
  'gateway-program',
  'postgres-machines',
  'coding-program',
  'channels-whole-way',
  'converse-claude',
  'project-status',
  'coding',
  'channels-approvals',
  'openclaw-plugin',
  'agent-around',
  'converse',
  'store-storms',
  'house-commands',
  'select',
  'channels-operations',
  'agent-conversation',
  'agent-permissions',
  'agent-command',
  'discord',
  'telegram-storm',
  'crash',
  'process',
  'coding-trouble',
  'coding-between-machines',
  'channels-coding',
  'transcript-crash',
  'session-store',
  'rights-claude',
  'power-cut',
  'syscall-sweep',
  'pairs',
  'index-crash',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const longFiles = moduleId.includes('/test/full/') ? longFullTests : longDefaultTests
  const rank = longFiles.indexOf(basename(moduleId, '.test.ts'))
  return rank < 0 ? longFiles.length : rank
}
