import { expect, test } from 'vitest'
import { StoreUnavailable } from '../store-unavailable.ts'
import { Redelivery } from './redelivery.ts'

const away = (): Promise<never> => Promise.reject(new StoreUnavailable('It is away.'))

test('after a lost answer no process gets a row before all rows were taken back', async () => {
  const said: string[] = []
  const { promise: isTakenBack, resolve } = Promise.withResolvers<void>()
  const handing = new Redelivery(async () => {
    said.push('taking back')
    await isTakenBack
    said.push('taken back')
  })
  await handing.receive(async () => said.push('one'))
  await expect(handing.receive(away)).rejects.toThrow('It is away.')
  const steps = ['two', 'three'].map((name) => handing.receive(async () => said.push(name)))
  await new Promise((done) => setImmediate(done))
  expect(said).toEqual(['one', 'taking back'])
  resolve()
  await Promise.all(steps)
  expect(said).toEqual(['one', 'taking back', 'taken back', 'two', 'three'])
})

test('an answer that is lost while all is taken back is seen to once more, and so is one that could not be', async () => {
  let taken = 0
  let lose: (error: Error) => void = () => {}
  const handing = new Redelivery(async () => {
    taken++
    if (taken === 1) lose(new StoreUnavailable('This one, too.'))
    await new Promise((done) => setImmediate(done))
    if (taken === 2) await away()
  })
  const slow = handing.receive(() => new Promise((_, reject) => (lose = reject)))
  await expect(handing.receive(away)).rejects.toThrow()
  await expect(Promise.all([handing.receive(async () => 'later'), slow])).rejects.toThrow('This one, too.')
  await expect(handing.receive(async () => 'in vain')).rejects.toThrow('It is away.')
  expect(await handing.receive(async () => 'at last')).toBe('at last')
  expect(taken).toBe(3)
})

test('a refusal is no lost answer', async () => {
  let taken = 0
  const handing = new Redelivery(async () => void taken++)
  await expect(handing.receive(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await handing.receive(async () => {})
  expect(taken).toBe(0)
})
