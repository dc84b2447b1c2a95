// Five sessions when the gateway is killed; and the commands of `cc` as people type them, each in a process of its own.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { codingJourneys, sleeping } from '../support/coding-journeys.ts'
import { inline } from '../support/messages-api.ts'
import { programFile } from '../support/program.ts'
import { noTerminal, openTerminal } from '../support/terminal.ts'

const here = codingJourneys()

test('killed with -9 while five sessions run: soon after the restart all are listed and resumable, none of their processes is left, each is reported once', async () => {
  const first = await here.startGateway()
  const names = Array.from({ length: 5 }, (_, n) => `sleeper-${n}`)
  for (const name of names) {
    const more = ['--allowed-tools', 'Bash', '--origin-channel', 'telegram|-42', '--json']
    await here.launch([sleeping], '--name', name, ...more)
  }
  for (const name of names) await here.untilStored(name, { lifecycle: 'active' })
  await vi.waitFor(() => {
    for (const name of names) expect(here.stored(name).doing).toMatch(/^Bash/)
  })
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
    { timeout: 60_000, interval: 50 },
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
  expect((await here.run('cc', 'attach', 'heron')).stderr).toMatch(/heron is working; two processes/)
  await said('interrupt', 'heron')
  expect(here.stored('heron')).toMatchObject({ lifecycle: 'awaiting-input', status: 'running' })
  expect(await said('fork', 'heron', inline({ text: 'another heron' }), '--wait')).toContain('another heron')
  expect(here.stored('heron-2').request.resume).toMatchObject({ fork: true })
  // From an earlier message: what came after it is not known there.
  const answer = firstAnswerOf(here.stored('heron').sdkSessionId!)
  const earlier = inline({ text: 'a third heron' })
  expect(await said('fork', 'heron', earlier, '--at-message', answer, '--wait')).toContain('a third heron')
  const known = JSON.stringify(here.api.calls().at(-1)?.body.messages)
  expect(known).toContain('the heron is grey')
  expect(known).not.toContain('and tall')
  expect(here.stored('heron').lifecycle).toBe('awaiting-input')
  expect(await said('stats')).toMatch(/Launched \d+, \d/)
  expect(await said('info', 'heron')).toContain('heron')
  const { sessions } = JSON.parse(await said('list', '--json')) as { sessions: Array<{ sessionId: string }> }
  expect(sessions.map(({ sessionId }) => sessionId)).toContain(here.stored('heron').sdkSessionId)
  expect(JSON.parse(await said('costs', '--json'))).toMatchObject({ totals: { costUsd: expect.any(Number) } })
  await said('kill', 'heron')
  expect(here.stored('heron')).toMatchObject({ status: 'killed', end: { reason: 'user' } })
  expect((await here.run('cc', 'respond', 'heron', 'x')).code).not.toBe(0)
  gateway.child.kill('SIGTERM')
  await gateway.ended
})

test('cc attach hands the terminal to the real Claude Code: it opens the session that waited, and afterwards it is ours again', async (ctx) => {
  ctx.skip(noTerminal !== undefined, noTerminal)
  const gateway = await here.startGateway()
  await here.launch([{ text: 'the wren is small' }], '--name', 'wren', '--json')
  const { request } = await here.untilStored('wren', { lifecycle: 'awaiting-input' })
  expect((await here.run('cc', 'attach', 'wren')).stderr).toMatch(/cc attach needs a terminal/)
  // What a person has answered at the first use of Claude Code here.
  const settings = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: ['test-key'], rejected: [] },
    projects: { [request.workdir]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  }
  const file = join(here.claude.configDir, '.claude.json')
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as object) : {}
  writeFileSync(file, JSON.stringify({ ...known, ...settings }))
  const terminal = openTerminal(`${process.execPath} ${programFile} cc attach wren`, {
    env: { ...here.claude.variables, TERM: 'xterm-256color' },
    columns: 100,
    rows: 40,
  })
  try {
    const shows = (wanted: RegExp): Promise<void> =>
      vi.waitFor(() => expect(terminal.screen()).toMatch(wanted), { timeout: 60_000, interval: 200 })
    await shows(/Claude Code v[\s\S]*● the wren is small[\s\S]*❯/)
    expect(here.stored('wren')).toMatchObject({ lifecycle: 'suspended', end: { reason: 'released' } })
    // Two writers would tear it apart.
    const other = await here.run('cc', 'resume', 'wren', 'x', '--wait')
    expect(`${other.stdout}${other.stderr}`).toMatch(/Another Claude \(process \d+ in .*\) has it open/)
    terminal.type(`how small? ${inline({ text: 'nine grams' })}`)
    await shows(/how small\?/)
    terminal.press('Enter')
    await shows(/● nine grams/)
    // Claude Code asks twice.
    terminal.press('C-c')
    await shows(/again to exit/i)
    terminal.press('C-c')
    await shows(/Back from Claude Code\. Continue in the background: rockpool cc resume wren[\s\S]*left 0/)
  } finally {
    terminal.close()
  }
  const again = await here.run('cc', 'resume', 'wren', inline({ text: 'I remember' }), '--wait')
  expect(again.stdout).toContain('I remember')
  expect(JSON.stringify(here.api.calls().at(-1)?.body.messages)).toContain('nine grams')
  gateway.child.kill('SIGTERM')
  await gateway.ended
})

test('cc watch continues when the gateway dies, and shows what became of its sessions', async (ctx) => {
  ctx.skip(noTerminal !== undefined, noTerminal)
  const gateway = await here.startGateway()
  await here.launch([{ text: 'the owl is awake' }], '--name', 'owl', '--json')
  await here.untilStored('owl', { lifecycle: 'awaiting-input' })
  const endless = [{ text: 'the lark sings on and on', hangAfter: 1 }]
  await here.launch(endless, '--name', 'lark', '--fresh', '--json')
  await here.untilStored('lark', { lifecycle: 'active' })
  const terminal = openTerminal(`${process.execPath} ${programFile} cc watch`, {
    env: { ...here.claude.variables, TERM: 'xterm-256color' },
    columns: 100,
    rows: 30,
  })
  try {
    const shows = (wanted: RegExp): Promise<void> =>
      vi.waitFor(() => expect(terminal.screen()).toMatch(wanted), { timeout: 60_000, interval: 200 })
    await shows(/lark +working/)
    gateway.child.kill('SIGKILL')
    await shows(/lark +stopped/)
    await shows(/owl +ready/)
    terminal.press('q')
    await shows(/left 0/)
  } finally {
    terminal.close()
  }
})

/** The uuid of what Claude said first. */
function firstAnswerOf(sdkSessionId: string): string {
  const projects = join(here.claude.configDir, 'projects')
  const [file] = readdirSync(projects, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith(`${sdkSessionId}.jsonl`),
  )
  const records = readFileSync(join(projects, file!), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; uuid: string })
  return records.find(({ type }) => type === 'assistant')!.uuid
}
