// Five sessions when the gateway is killed; and the commands of `cc` as people type them, each in a process of its own.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { codingJourneys, sleeping } from '../coding-journeys.ts'
import { inline } from '../messages-api.ts'
import { programFile } from '../program.ts'

const here = codingJourneys()

test('killed with -9 while five sessions run: within 5 s of the restart all are listed and resumable, none of their processes is left, each is told once', async () => {
  const first = await here.startGateway()
  const names = Array.from({ length: 5 }, (_, n) => `sleeper-${n}`)
  for (const name of names) {
    const more = ['--allowed-tools', 'Bash', '--origin-channel', 'telegram|42', '--json']
    await here.launch([sleeping], '--name', name, ...more)
  }
  for (const name of names) await here.untilStored(name, { lifecycle: 'active' })
  await vi.waitFor(() => {
    for (const name of names) expect(here.stored(name).doing).toMatch(/^Bash/)
  }, 60_000)
  first.child.kill('SIGKILL')
  await first.ended
  const second = await here.startGateway()
  const ready = performance.now()
  await vi.waitFor(
    () => {
      for (const name of names) {
        const session = { status: 'killed', lifecycle: 'suspended', end: { reason: 'crash' } }
        expect(here.stored(name)).toMatchObject(session)
      }
      expect(here.isClaudeRunning()).toBe(false)
    },
    { timeout: 5_000, interval: 50 },
  )
  const took = performance.now() - ready
  process.stderr.write(
    `five sessions after kill -9: found and ended ${Math.round(took)} ms after the restart\n`,
  )
  const listed = (await here.run('coding', 'sessions', '--json')).json() as {
    sessions: Array<{ name: string }>
  }
  expect(listed.sessions.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
  for (const name of names) {
    const resumed = await here.run('cc', 'resume', name, inline({ text: 'awake' }), '--wait', '--json')
    expect(resumed.json()).toMatchObject({ lifecycle: 'awaiting-input' })
  }
  second.child.kill('SIGTERM')
  await second.ended
  const third = await here.startGateway()
  third.child.kill('SIGTERM')
  await third.ended
  for (const name of names) {
    const { id } = here.stored(name)
    const told = here.noticesOf(id).filter((notice) => notice.includes('Rockpool stopped while it ran'))
    expect(told).toHaveLength(1)
  }
})

test('cc output, respond, fg, bg, interrupt, fork, stats, info, list, costs and kill, from any terminal', async () => {
  const gateway = await here.startGateway()
  await here.launch([{ text: 'the heron is grey' }], '--name', 'heron', '--json')
  await here.untilStored('heron', { lifecycle: 'awaiting-input' })
  const said = async (...args: string[]): Promise<string> => {
    const ran = await here.run('cc', ...args)
    expect(ran.stderr, `cc ${args.join(' ')}`).toBe('')
    return ran.stdout
  }
  expect(await said('output', 'heron')).toContain('the heron is grey')
  expect(await said('fg', 'heron', '--lines', '5')).toContain('the heron is grey')
  await said('respond', 'heron', inline({ text: 'and tall' }))
  await here.untilStored('heron', { turns: 2, lifecycle: 'awaiting-input' })
  // The terminal that watched gets what it missed, and nothing twice.
  const missed = await said('fg', 'heron')
  expect(missed).toContain('and tall')
  expect(missed).not.toContain('the heron is grey')
  await said('bg', 'heron')
  await said('respond', 'heron', inline({ text: 'very long '.repeat(500), chunkDelayMs: 50 }))
  await here.untilStored('heron', { lifecycle: 'active' })
  await said('interrupt', 'heron')
  expect(here.stored('heron')).toMatchObject({ lifecycle: 'awaiting-input', status: 'running' })
  expect(await said('fork', 'heron', inline({ text: 'another heron' }), '--wait')).toContain('another heron')
  expect(here.stored('heron-2').request.resume).toMatchObject({ fork: true })
  expect(here.stored('heron').lifecycle).toBe('awaiting-input')
  expect(await said('stats')).toMatch(/2/)
  expect(await said('info', 'heron')).toContain('heron')
  const { sessions } = JSON.parse(await said('list', '--json')) as { sessions: Array<{ sessionId: string }> }
  expect(sessions.map(({ sessionId }) => sessionId)).toContain(here.stored('heron').sdkSessionId)
  expect(JSON.parse(await said('costs', '--json'))).toMatchObject({ totals: { costUsd: expect.any(Number) } })
  // Two writers would tear it apart.
  expect((await here.run('cc', 'attach', 'heron')).stderr).toMatch(/heron runs now/)
  await said('kill', 'heron')
  expect(here.stored('heron')).toMatchObject({ status: 'killed', end: { reason: 'user' } })
  expect((await here.run('cc', 'respond', 'heron', 'x')).code).not.toBe(0)
  gateway.child.kill('SIGTERM')
  await gateway.ended
})

test('cc attach hands the terminal to `claude --resume` where the session worked, and to none where there is no terminal', async () => {
  const ran = await here.launch([{ text: 'here I was' }], '--name', 'wren', '--wait', '--json')
  expect(ran.code).toBe(0)
  const { sdkSessionId, request } = here.stored('wren')
  expect((await here.run('cc', 'attach', 'wren')).stderr).toMatch(/hands this terminal to Claude Code/)
  // In place of the interactive screen, which needs a person: what is started, and where.
  const bin = join(here.claude.root, 'bin')
  const claude = join(bin, 'claude')
  mkdirSync(bin)
  writeFileSync(claude, `#!/bin/sh\necho "$PWD $*" > ${join(bin, 'started')}\n`)
  chmodSync(claude, 0o755)
  const config = join(bin, 'rockpool.json')
  writeFileSync(config, JSON.stringify({ claude: { binary: claude } }))
  const line = `${process.execPath} ${programFile} cc attach wren`
  const env = { ...here.claude.variables, ROCKPOOL_CONFIG: config, TERM: 'xterm' }
  execFileSync('script', ['-qec', line, '/dev/null'], { env, stdio: 'ignore' })
  expect(readFileSync(join(bin, 'started'), 'utf8').trim()).toBe(
    `${request.workdir} --resume ${sdkSessionId}`,
  )
})
