import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { silentLog } from './domain/log.ts'
import { logUnhandledErrors } from './daemon.ts'

test('a failure without a waiting caller is logged, with its reason', () => {
  const told: unknown[] = []
  const process = new EventEmitter()
  logUnhandledErrors(process, { ...silentLog, error: (fields) => told.push(fields) })
  process.emit('unhandledRejection', new Error('no room'))
  expect(told).toEqual([{ event: 'unhandled-error', error: new Error('no room') }])
})
