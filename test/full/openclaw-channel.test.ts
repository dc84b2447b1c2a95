// Rockpool behind OpenClaw: a client speaks as the plugin does, with the built program and the real Claude binary. With the
// real OpenClaw: test/full/openclaw-plugin.test.ts.
import { existsSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hashOf, newToken, writeTokenRecords } from '../../src/store/gateway-tokens.ts'
import { codingJourneys } from '../support/coding-journeys.ts'
import { testModel } from '../support/claude-home.ts'
import { inline } from '../support/messages-api.ts'
import { chat, OpenClawPlugin, origin } from '../support/openclaw-plugin.ts'
import type { PluginTokens } from '../support/openclaw-plugin.ts'

const here = codingJourneys()

function makeTokens(): PluginTokens {
  const [agentToken, personToken] = [newToken(), newToken()]
  const record = (name: string, token: string, scopes: string[]) => ({
    name,
    scopes,
    agents: 'openclaw-' as const,
    createdAt: 0,
    hash: hashOf(token).toString('base64url'),
  })
  writeTokenRecords(here.claude.stateDir, [
    record('openclaw', agentToken, ['read', 'write']),
    record('openclaw-person', personToken, ['read', 'write', 'approve']),
  ])
  return { agentToken, personToken }
}

test('a session of OpenClaw asks and reports in its chat: nothing is lost and nothing comes twice after a kill -9', async () => {
  const tokens = makeTokens()
  const workspace = mkdtempSync(join(here.claude.root, 'workspace-'))
  const first = await here.startGateway()
  const { url } = JSON.parse(await first.line) as { url: string }
  const plugin = new OpenClawPlugin(url, tokens, ({ kind }) => kind === 'question')

  const agents = [{ id: 'main', workspace, claudeCode: { model: testModel, maxBudgetUsd: 2, colour: 'red' } }]
  const hello = await plugin.own('openclaw.hello', { version: '2026.9.6', pluginVersion: '1', agents })
  expect(hello.result).toEqual({ ok: true, ignored: [expect.stringContaining('main: claudeCode.colour')] })

  const context = { name: 'mcp__openclaw-bridge__openclaw_conversation_context', input: {} }
  const touch = { name: 'Bash', input: { command: 'touch made-here' } }
  const prompt = inline({ tools: [context] }, { tools: [touch] }, { text: 'the heron is home' })
  const launched = await plugin.tool('coding.launch', { prompt, originChannel: origin, name: 'heron' })
  expect(launched.result).toMatchObject({ model: testModel, budgetUsd: 2, workdir: workspace })

  const asked = await plugin.until(() => plugin.questions[0])
  expect(asked).toMatchObject({ kind: 'conversation', target: chat, limit: 30 })
  const lines = [{ role: 'user', text: 'please look after the heron' }]
  expect((await plugin.own('openclaw.answer', { id: asked.id, lines })).result).toEqual({ ok: true })

  const question = await plugin.until(() => plugin.offered.find(({ kind }) => kind === 'question'))
  expect(JSON.stringify(here.api.calls().at(-1)?.body.messages)).toContain('please look after the heron')
  expect(question).toMatchObject({
    target: chat,
    wake: false,
    text: expect.stringMatching(/\/claude_approve \w+/),
  })
  const [launchNotice, ...others] = plugin.delivered.values()
  expect(launchNotice).toMatchObject({
    kind: 'notice',
    wake: false,
    text: expect.stringContaining('Launched'),
  })
  expect(others).toEqual([])

  first.child.kill('SIGKILL')
  await first.ended
  const second = await here.startGateway()
  const again = new OpenClawPlugin(
    (JSON.parse(await second.line) as { url: string }).url,
    tokens,
    () => false,
  )
  // The question was offered and not acknowledged. The notice of the launch was, so it does not come again.
  const ended = await again.until(() => [...again.delivered.values()].find(({ wake }) => wake))
  expect(ended).toMatchObject({
    target: chat,
    text: expect.stringContaining('Rockpool stopped while it ran'),
  })
  expect([...again.delivered.keys()].sort()).toEqual([ended.key, question.key].sort())

  // The limits of the agent are known before the plugin has said hello again.
  const resumed = await again.person('openclaw.command', {
    name: 'claude_resume',
    args: `heron ${inline({ tools: [touch] }, { text: 'the heron is home' })}`,
    originChannel: origin,
  })
  expect(resumed.result).toMatchObject({ isError: false })
  const newQuestion = await again.until(() =>
    again.offered.find(({ kind, key }) => kind === 'question' && key !== question.key),
  )
  const [, approval] = /\/claude_approve (\w+)/.exec(newQuestion.text)!
  const allow = { name: 'claude_approve', args: approval, originChannel: origin }
  expect((await again.tool('openclaw.command', allow)).error?.data?.code).toBe('forbidden')
  expect((await again.person('openclaw.command', allow)).result).toMatchObject({ isError: false })
  const waits = await again.until(() =>
    [...again.delivered.values()].find(({ text }) => text.includes('finished its turn')),
  )
  expect(waits).toMatchObject({ wake: true, text: expect.stringContaining('the heron is home') })
  expect(existsSync(join(workspace, 'made-here'))).toBe(true)
  const keys = again.offered.map(({ key }) => key)
  expect(new Set(keys).size).toBe(keys.length)
  again.close()
  second.child.kill('SIGTERM')
  await second.ended
})

test('`openclaw status` says what is missing, and `install` without OpenClaw changes nothing', async () => {
  const seen = await here.run('openclaw', 'status', '--json')
  expect(seen.json()).toMatchObject({
    connected: false,
    agents: ['openclaw-main'],
    missing: [
      expect.stringContaining('There is no OpenClaw on the PATH.'),
      expect.stringContaining('`rockpool openclaw install`'),
      expect.stringContaining('no tokens'),
      expect.stringContaining('`rockpool up`'),
    ],
  })
  const failed = await here.run('openclaw', 'install', '--openclaw', '/nowhere/openclaw', '--yes', '--json')
  expect(failed.code).toBe(3)
  expect(failed.json()).toMatchObject({ error: { hint: expect.stringContaining('--openclaw') } })
})
