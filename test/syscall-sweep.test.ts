// The calls that matter most, failed once each; test/full/syscall-sweep.test.ts fails every one.
import { expect, test } from 'vitest'
import { moveKilledAtEvery, updateWithFault, whyNoSweep } from './support/syscall-sweep.ts'

const whyNot = whyNoSweep()

test.for([
  ['sqlite', { syscall: 'pwrite64', error: 'ENOSPC', when: 1 }],
  ['sqlite', { syscall: 'fsync', error: 'EIO', when: 1 }],
  ['files', { syscall: 'openat', error: 'ENOSPC', when: 2 }],
  ['files', { syscall: 'fsync', error: 'EIO', when: 1 }],
  ['files', { syscall: 'fsync', error: 'EIO', when: 2 }],
  ['files', { syscall: 'rename', error: 'ENOSPC', when: 1 }],
] as const)(
  '%s, a call that fails in an update leaves the state before or after: %j',
  async ([kind, fault], ctx) => {
    if (whyNot) ctx.skip(whyNot)
    expect(await updateWithFault(kind, fault)).toBe(true)
  },
)

test.for([
  ['sqlite', 'fsync'],
  ['files', 'rename'],
] as const)(
  '%s, killed at every %s while a row gets another key, has it under one of them',
  async ([kind, syscall], ctx) => {
    if (whyNot) ctx.skip(whyNot)
    expect(await moveKilledAtEvery(kind, syscall)).toBeGreaterThan(0)
  },
)
