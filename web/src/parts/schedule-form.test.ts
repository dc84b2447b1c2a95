import { expect, test } from 'vitest'
import type { Row } from '../rows.ts'
import { workerOf } from './schedule-form.tsx'

test('a schedule is for an agent, a new coding session in a repository, or one that continues there', () => {
  const rows = [{ id: 'a1', sessionId: 'claude-1', path: '/code/shop' }] as Row[]
  expect(workerOf('', '', rows)).toEqual({ do: 'turn', agent: undefined })
  expect(workerOf('agent ops', '', rows)).toEqual({ do: 'turn', agent: 'ops' })
  expect(workerOf('new', '/code/api', rows)).toEqual({ do: 'coding', workdir: '/code/api' })
  expect(workerOf('session a1', '', rows)).toEqual({
    do: 'coding',
    session: 'claude-1',
    workdir: '/code/shop',
  })
})
