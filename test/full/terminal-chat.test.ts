// `rockpool chat` as a person sees it: the built program in a real terminal, a gateway, and the real Claude binary against the
// scripted API. The terminal shows the questions and the work of its coding sessions.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { makeClaudeHome, testModel } from '../support/claude-home.ts'
import { callOverHttp } from '../../src/rpc/http-call.ts'
import { readGatewayToken } from '../../src/store/gateway-tokens.ts'
import { startMessagesApi } from '../support/messages-api.ts'
import { programFile, startProgram } from '../support/program.ts'
import { noTerminal, openTerminal } from '../support/terminal.ts'

const patience = { timeout: 60_000, interval: 50 }

/** Ctrl-C stops the only turn of `rockpool agent`, with one line and no stack trace. */
async function stopsFirstTurn(words: string[], variables: Record<string, string>): Promise<void> {
  const line = [process.execPath, programFile, ...words].join(' ')
  const terminal = openTerminal(line, { env: { ...variables, TERM: 'xterm' }, columns: 100, rows: 12 })
  try {
    await vi.waitFor(() => expect(terminal.screen()).toMatch(/\d+ s {2}Ctrl-C stops/), patience)
    terminal.press('C-c')
    await vi.waitFor(() => expect(terminal.screen()).toMatch(/left \d+/), patience)
    expect(terminal.screen().trim()).toBe('Error: The turn was stopped before its end.\nleft 4')
  } finally {
    terminal.close()
  }
}

/** Every operation that takes a session takes its name, our id, Claude's id, and the beginning of each. */
async function everyReference({ url }: { url: string }, stateDir: string): Promise<void> {
  const gateway = { url, token: readGatewayToken(stateDir) }
  const call = (method: string, input: object) => callOverHttp(gateway, method, { ...input })
  const { sessions } = (await call('coding.sessions', {})) as { sessions: Array<Record<string, string>> }
  const { cost } = (await call('status', {})) as { cost: { todayUsd: number } }
  const { totals } = (await call('cc.costs', {})) as { totals: { costUsd: number } }
  // One number for what today cost; all of it was spent today.
  expect(cost.todayUsd).toBeGreaterThan(0)
  expect(cost.todayUsd).toBeCloseTo(totals.costUsd, 9)
  const { id, claudeSessionId } = sessions.find(({ name }) => name === 'shed')!
  const references = [id!, claudeSessionId!].flatMap((whole) => [whole, whole.slice(0, 6)])
  for (const reference of ['shed', 'she', ...references]) {
    for (const method of ['cc.info', 'cc.read', 'cc.anatomy', 'cc.archive'])
      await call(method, { id: reference, ...(method === 'cc.archive' ? { restore: true } : {}) })
    for (const method of ['coding.output', 'coding.seen', 'coding.review'])
      await call(method, { session: reference })
  }
}

test('questions, notices and output of coding sessions reach the terminal, and are in its history', async (ctx) => {
  ctx.skip(noTerminal !== undefined, noTerminal)
  const api = await startMessagesApi()
  const home = makeClaudeHome({ apiUrl: api.url, name: 'terminal' })
  const config = {
    agents: { defaults: { model: testModel } },
    claude: { maxRetries: 0, spare: false },
    coding: { defaultWorkdir: home.project, defaultModel: testModel },
  }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
  api.script('tell me a long story', [{ hang: true }])
  api.script('good morning', [{ text: 'Good **morning** to you.' }])
  api.script('paint the shed', [
    { tools: [{ name: 'Bash', input: { command: 'touch painted.txt' } }] },
    { text: 'The shed is green.' },
  ])
  api.script('now the fence', [{ text: 'The fence is blue.' }])
  api.script('now the gate', [{ text: 'The gate is red and wide.', chunkSize: 6, hangAfter: 2 }])
  const gateway = startProgram(['up', '--port', '0', '--json'], home.variables)
  const ready = await gateway.line
  const terminal = openTerminal(`${process.execPath} ${programFile} chat`, {
    env: { ...home.variables, TERM: 'xterm' },
    columns: 120,
    rows: 50,
  })
  const shows = (wanted: string | RegExp): Promise<void> =>
    vi.waitFor(() => expect(terminal.screen()).toMatch(wanted), patience)
  const say = (text: string): void => {
    terminal.type(text)
    terminal.press('Enter')
  }
  try {
    await shows(/\/exit leaves/)
    // Ctrl-C stops also the first turn, and the chat continues.
    say('tell me a long story')
    await shows(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \d+ s {2}Ctrl-C stops/)
    terminal.press('C-c')
    await shows(/The turn was stopped before its end\./)
    say('good morning')
    await shows(/Good morning to you\./)
    say('/claude --name shed paint the shed')
    await shows(/\[shed\] wants to run a command/)
    say('yes')
    await shows(/The shed is green\./)
    await shows(/\[shed\] finished its turn/)
    say('/claude_fg shed')
    say('/claude_respond shed now the fence')
    await shows(/The fence is blue\./)
    await everyReference(JSON.parse(ready) as { url: string }, home.stateDir)
    // Words of an answer that never ends are shown while Claude writes them.
    const follow = startProgram(['cc', 'output', 'shed', '--follow'], home.variables)
    let followed = ''
    follow.child.stdout!.on('data', (chunk) => (followed += String(chunk)))
    await vi.waitFor(() => expect(followed).toContain('The fence is blue.'), patience)
    say('/claude_respond shed now the gate')
    await vi.waitFor(() => expect(followed).toMatch(/The gate is $/), patience)
    follow.child.kill('SIGTERM')
    await follow.ended
    say('/exit')
    await shows(/left 0/)
    await stopsFirstTurn(['agent', '-m', '"tell me a long story"'], home.variables)
    await stopsFirstTurn(['agent', '--local', '--to', 'ada', '-m', '"tell me a long story"'], home.variables)
    const ran = await startProgram(['history', 'agent:main:console:direct:terminal'], home.variables).ended
    expect(ran.stdout).toMatch(/delivered\n +🔔 \[shed\] finished its turn/)
  } finally {
    terminal.close()
    gateway.child.kill('SIGTERM')
    await gateway.ended
    await api.close()
    home.remove()
  }
})
