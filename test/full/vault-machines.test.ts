// A laptop is lost with everything on it. Its gateway had copied its vault to a folder, to an S3-compatible server or to PostgreSQL:
// another machine lists its session there, restores it, and the real Claude continues it.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claudeBinary, makeClaudeHome, type ClaudeHome } from '../support/claude-home.ts'
import { startMessagesApi, type MessagesApi } from '../support/messages-api.ts'
import { startPostgres } from '../support/postgres.ts'
import { startProgram, type Ran } from '../support/program.ts'
import { recordSession, runClaude } from '../support/recorded-sessions.ts'
import { startS3, testAccount } from '../support/s3-server.ts'

let api: MessagesApi
const ending: Array<() => unknown> = []

beforeEach(async (ctx) => {
  if (!existsSync(claudeBinary)) ctx.skip('the Claude binary is not installed')
  api = await startMessagesApi()
  ending.push(() => api.close())
})
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})

/** Where the machines share their vaults, and what they need to reach it. */
interface Place {
  address: string
  variables: Record<string, string>
}

function aFolder(): Place {
  const drive = mkdtempSync(join(tmpdir(), 'rockpool-drive-'))
  ending.push(() => rmSync(drive, { recursive: true }))
  return { address: drive, variables: {} }
}

async function anS3Server(): Promise<Place> {
  const s3 = await startS3()
  ending.push(() => s3.close())
  const variables = {
    AWS_ACCESS_KEY_ID: testAccount.accessKeyId,
    AWS_SECRET_ACCESS_KEY: testAccount.secretAccessKey,
    AWS_REGION: testAccount.region,
    AWS_ENDPOINT_URL_S3: s3.endpoint,
  }
  return { address: 's3://backups/rockpool', variables }
}

async function aPostgres(): Promise<Place | undefined> {
  const postgres = await startPostgres()
  if (!postgres) return undefined
  ending.push(() => postgres.stop())
  return { address: 'postgres', variables: { ROCKPOOL_DATABASE_URL: postgres.url } }
}

interface Machine {
  home: ClaudeHome
  run(...args: string[]): Promise<Ran>
  start(...args: string[]): ReturnType<typeof startProgram>
}

function makeMachine(name: string, { address, variables }: Place): Machine {
  const home = makeClaudeHome({ apiUrl: api.url, name })
  ending.push(() => home.remove())
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

async function loseAndRestore(place: Place): Promise<void> {
  const laptop = makeMachine('laptop', place)
  const desk = makeMachine('desk', place)
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

test('a session of a lost laptop continues on another machine, from a folder', async () => {
  await loseAndRestore(aFolder())
}, 300_000)

test('a session of a lost laptop continues on another machine, from an S3-compatible server', async () => {
  await loseAndRestore(await anS3Server())
}, 300_000)

test('a session of a lost laptop continues on another machine, from PostgreSQL', async (ctx) => {
  const place = await aPostgres()
  if (!place) ctx.skip('PostgreSQL is not installed')
  await loseAndRestore(place!)
}, 300_000)
