// A laptop is lost with everything on it. Its gateway had copied its vault to a folder, to an S3-compatible server or to PostgreSQL:
// another machine lists its session there, restores it, and the real Claude continues it. A gateway copies what changed once a
// minute, so the three places are tested at once.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { TestContext } from 'vitest'
import { claudeBinary, makeClaudeHome, type ClaudeHome } from '../support/claude-home.ts'
import { startMessagesApi, type MessagesApi } from '../support/messages-api.ts'
import { startPostgres } from '../support/postgres.ts'
import { startProgram, type Ran } from '../support/program.ts'
import { recordSession, runClaude } from '../support/recorded-sessions.ts'
import { startS3, testAccount } from '../support/s3-server.ts'

/** Where the machines share their vaults, and what they need to reach it. */
interface Place {
  address: string
  variables: Record<string, string>
}

async function aFolder(ctx: TestContext): Promise<Place> {
  const drive = mkdtempSync(join(tmpdir(), 'rockpool-drive-'))
  ctx.onTestFinished(() => rmSync(drive, { recursive: true }))
  return { address: drive, variables: {} }
}

async function anS3Server(ctx: TestContext): Promise<Place> {
  const s3 = await startS3()
  ctx.onTestFinished(() => s3.close())
  const variables = {
    AWS_ACCESS_KEY_ID: testAccount.accessKeyId,
    AWS_SECRET_ACCESS_KEY: testAccount.secretAccessKey,
    AWS_REGION: testAccount.region,
    AWS_ENDPOINT_URL_S3: s3.endpoint,
  }
  return { address: 's3://backups/rockpool', variables }
}

async function aPostgres(ctx: TestContext): Promise<Place> {
  const postgres = (await startPostgres()) ?? ctx.skip('PostgreSQL is not installed')
  ctx.onTestFinished(() => postgres.stop())
  return { address: 'postgres', variables: { ROCKPOOL_DATABASE_URL: postgres.url } }
}

interface Machine {
  home: ClaudeHome
  run(...args: string[]): Promise<Ran>
  start(...args: string[]): ReturnType<typeof startProgram>
}

function makeMachine(ctx: TestContext, api: MessagesApi, name: string, place: Place): Machine {
  const { address, variables } = place
  const home = makeClaudeHome({ apiUrl: api.url, name })
  ctx.onTestFinished(() => home.remove())
  const config = { vault: { shared: address }, machine: { name } }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config), { mode: 0o600 })
  const start = (...args: string[]) => startProgram(args, { ...home.variables, ...variables })
  return { home, start, run: (...args) => start(...args).ended }
}

/** Resolves when another machine can restore the file as it is now. */
async function untilShared(desk: Machine, sessionId: string, file: string, configDir: string): Promise<void> {
  for (;;) {
    const probe = mkdtempSync(join(tmpdir(), 'rockpool-probe-'))
    await desk.run('vault', 'restore', sessionId, '--machine', 'laptop', '--to', probe)
    const copy = file.replace(configDir, probe)
    const isThere = existsSync(copy) && readFileSync(copy).equals(readFileSync(file))
    rmSync(probe, { recursive: true })
    if (isThere) return
    await sleep(2_000)
  }
}

async function loseAndRestore(ctx: TestContext, place: Place): Promise<void> {
  const api = await startMessagesApi()
  ctx.onTestFinished(() => api.close())
  const laptop = makeMachine(ctx, api, 'laptop', place)
  const desk = makeMachine(ctx, api, 'desk', place)
  // Both machines have the repository in the same place.
  desk.home.project = laptop.home.project
  const { sessionId, filePath } = await recordSession(laptop.home, api, 0)
  const gateway = laptop.start('up', '--port', '0', '--json')
  await gateway.line
  api.script('second-errand', [{ text: 'The second errand is noted.' }])
  await runClaude(laptop.home, 'Please note: second-errand', '--resume', sessionId)
  await untilShared(desk, sessionId, filePath, laptop.home.configDir)
  const original = readFileSync(filePath)
  gateway.child.kill('SIGKILL')
  await gateway.ended
  for (const lost of [laptop.home.configDir, laptop.home.stateDir]) rmSync(lost, { recursive: true })

  const status = (await desk.run('vault', 'status', '--json')).json()
  expect(status['shared']).toMatchObject({
    machines: [expect.objectContaining({ machine: expect.stringMatching(/^laptop-/) as string })],
  })
  const list = await desk.run('vault', 'list', '--machine', 'laptop', '--json')
  expect(list.json()['sessions']).toContainEqual(expect.objectContaining({ sessionId, gone: true }))
  const restored = await desk.run('vault', 'restore', sessionId, '--machine', 'laptop')
  expect(restored).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`--resume ${sessionId}`) as string,
  })
  const here = filePath.replace(laptop.home.configDir, desk.home.configDir)
  expect(readFileSync(here).equals(original)).toBe(true)
  api.script('what-was-the-errand', [{ text: 'It was the second errand.' }])
  expect(await runClaude(desk.home, 'what-was-the-errand', '--resume', sessionId)).toBe(
    'It was the second errand.',
  )
  const asked = api.calls().findLast((call) => call.sdkSessionId === sessionId)!
  for (const word of ['lighthouse-0', 'second-errand', 'The second errand is noted.'])
    expect(JSON.stringify(asked.body.messages)).toContain(word)
}

const places = { 'a folder': aFolder, 'an S3-compatible server': anS3Server, PostgreSQL: aPostgres }

for (const [name, aPlace] of Object.entries(places)) {
  test.concurrent(`a session of a lost laptop continues on another machine, from ${name}`, async (ctx) => {
    if (!existsSync(claudeBinary)) ctx.skip('the Claude binary is not installed')
    await loseAndRestore(ctx, await aPlace(ctx))
  })
}
