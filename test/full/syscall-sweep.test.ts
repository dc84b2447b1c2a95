// Every system call of an update, failed once, with two errors.
import { expect, test } from 'vitest'
import { moveKilledAtEvery, updateWithFault, whyNoSweep } from '../support/syscall-sweep.ts'

const whyNot = whyNoSweep()
const calls = {
  sqlite: [
    'openat',
    'pwrite64',
    'fsync',
    'fdatasync',
    'ftruncate',
    'fchmod',
    'unlink',
    'rename',
    'link',
    'write',
    'close',
    'mmap',
  ],
  files: ['openat', 'write', 'fsync', 'rename', 'link', 'unlink', 'fchmod', 'chmod', 'close', 'statx'],
}
const cases = (['sqlite', 'files'] as const).flatMap((kind) =>
  calls[kind].flatMap((syscall) => (['EIO', 'ENOSPC'] as const).map((error) => ({ kind, syscall, error }))),
)

test.for(cases)(
  '$kind: every $syscall of an update, failed with $error, leaves the state before or after',
  async ({ kind, syscall, error }, ctx) => {
    if (whyNot) ctx.skip(whyNot)
    let when = 1
    while (when <= 60 && (await updateWithFault(kind, { syscall, error, when }))) when++
    expect(when).toBeLessThanOrEqual(60)
  },
)

const kills = (['sqlite', 'files'] as const).flatMap((kind) =>
  calls[kind].map((syscall) => ({ kind, syscall })),
)

test.for(kills)(
  '$kind: killed at every $syscall while a row gets another key, it is under one of them',
  async ({ kind, syscall }, ctx) => {
    if (whyNot) ctx.skip(whyNot)
    expect(await moveKilledAtEvery(kind, syscall)).toBeLessThan(60)
  },
)
