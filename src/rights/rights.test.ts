import { describe, expect, test } from 'vitest'
import { mayCost, mayUseDirectory } from './rights.ts'

const limits = {
  workspace: '/home/me/.rockpool/agents/work/workspace',
  repositories: ['/code/shop', '/home/me'],
  closed: ['/home/me/.rockpool', '/home/me/.rockpool/agents/main/workspace'],
  maxBudgetUsd: 5,
}

describe('an agent starts a session', () => {
  test.each([
    ['its own workspace', limits.workspace, true],
    ['a folder in its workspace', `${limits.workspace}/notes`, true],
    ['a configured repository', '/code/shop', true],
    ['a folder in a configured repository', '/code/shop/src', true],
    ['a repository with a similar name', '/code/shop-2', false],
    ['the folder above a repository', '/code', false],
    ['the root of the file system', '/', false],
    ['a folder in a configured folder that also contains closed ones', '/home/me/code', true],
    ['that configured folder itself', '/home/me', false],
    ['the state directory', '/home/me/.rockpool', false],
    ['a folder of the state directory', '/home/me/.rockpool/credentials', false],
    ["another agent's workspace", '/home/me/.rockpool/agents/main/workspace', false],
  ])('in %s', (_where, directory, allowed) => {
    expect(mayUseDirectory(directory, limits)).toBe(allowed)
  })

  test('although its own workspace contains that of another agent', () => {
    const outer = { ...limits, workspace: '/w', closed: ['/w/other'] }
    expect(mayUseDirectory('/w', outer)).toBe(true)
    expect(mayUseDirectory('/w/other', outer)).toBe(false)
  })

  test('for at most the configured budget', () => {
    expect([undefined, 4.99, 5, 5.01].map((usd) => mayCost(usd, limits))).toEqual([true, true, true, false])
  })
})
