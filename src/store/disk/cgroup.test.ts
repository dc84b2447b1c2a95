import { expect, test } from 'vitest'
import { ownCgroup } from './cgroup.ts'

const mounts = (root: string, place: string): string =>
  [
    '24 1 0:22 / /proc rw,nosuid - proc proc rw',
    `41 31 0:38 ${root} ${place} rw,nosuid,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate`,
    '',
  ].join('\n')

test('our own cgroup is found below the place where version 2 is mounted', () => {
  const service = '/user.slice/user-1000.slice/user@1000.service/app.slice/rockpool.service'
  expect(ownCgroup(mounts('/', '/sys/fs/cgroup'), `0::${service}\n`)).toBe(`/sys/fs/cgroup${service}`)
  const both = '4:memory:/somewhere\n0::/\n'
  expect(ownCgroup(mounts('/', '/sys/fs/cgroup/unified'), both)).toBe('/sys/fs/cgroup/unified')
})

test('a container that sees only a part of the cgroups has its own place in that part, or none', () => {
  const place = '/sys/fs/cgroup'
  expect(ownCgroup(mounts('/docker/abc', place), '0::/docker/abc/inner\n')).toBe('/sys/fs/cgroup/inner')
  expect(ownCgroup(mounts('/docker/abc', place), '0::/elsewhere\n')).toBeUndefined()
  expect(ownCgroup('24 1 0:22 / /proc rw - proc proc rw\n', '0::/\n')).toBeUndefined()
  expect(ownCgroup(mounts('/', place), '4:memory:/\n')).toBeUndefined()
})
