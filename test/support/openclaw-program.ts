// A real OpenClaw, offline: its gateway in a state directory of its own, a Telegram on loopback for its chat, a scripted model.
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { OpenClawVersion } from './openclaw-api.ts'
import { peerProgram } from './peer-program.ts'
import type { TelegramApi } from './telegram-api.ts'

/** 2026.1.30 names a package by its git address, and one whose newest version needs a package that does not exist. */
const overrides = { '@whiskeysockets/baileys': 'npm:baileys@7.0.0-rc14', linkedom: '0.18.12' }

export function openClawProgram(version: OpenClawVersion): ReturnType<typeof peerProgram> {
  return peerProgram(`openclaw@${version}`, 'openclaw', version === '2026.1.30' ? overrides : undefined)
}

export interface OpenClaw {
  stateDir: string
  port: number
  /** Runs one command of it. */
  run(...args: string[]): { stdout: string; stderr: string; code: number | null }
  /** Starts the gateway; resolves when it accepts connections and its Telegram bot polls. */
  start(): Promise<ChildProcess>
  /** A method of its gateway, over its WebSocket. */
  call(
    method: string,
    params?: object,
  ): Promise<{ ok: boolean; payload?: unknown; error?: { message: string } }>
  log(): string
  editConfig(change: (config: Record<string, unknown>) => void): void
}

export interface OpenClawParts {
  program: string
  version: OpenClawVersion
  root: string
  modelUrl: string
  telegram: TelegramApi
  /** The person whose messages it answers. */
  owner: number
}

const token = 'openclaw-test-token'

export async function prepareOpenClaw(parts: OpenClawParts): Promise<OpenClaw> {
  const { program, version, root } = parts
  const stateDir = join(root, 'openclaw')
  const port = await freePort()
  const configFile = join(stateDir, 'openclaw.json')
  mkdirSync(join(stateDir, 'workspace'), { recursive: true, mode: 0o700 })
  writeFileSync(configFile, JSON.stringify(configOf(parts, port, stateDir), null, 2))
  const env = {
    // Not the test runner's variables: with them it says nothing.
    PATH: process.env['PATH'] ?? '',
    HOME: root,
    OPENCLAW_STATE_DIR: stateDir,
    OPENCLAW_CONFIG_PATH: configFile,
    OPENCLAW_NO_RESPAWN: '1',
    ANTHROPIC_API_KEY: 'test-key',
    ...(version === '2026.1.30' ? { NODE_OPTIONS: `--import=${telegramOnLoopback(parts)}` } : {}),
  }
  const logFile = join(root, 'openclaw.log')
  const log = (): string => readFileSync(logFile, 'utf8')
  writeFileSync(logFile, '')
  return {
    stateDir,
    port,
    log,
    run(...args) {
      const { stdout, stderr, status } = spawnSync(program, args, { encoding: 'utf8', env, timeout: 300_000 })
      return { stdout, stderr, code: status }
    },
    async start() {
      const output = createWriteStream(logFile, { flags: 'a' })
      const child = spawn(program, ['gateway', '--port', String(port)], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child.stdout.pipe(output, { end: false })
      child.stderr.pipe(output, { end: false })
      const polls = parts.telegram.callsOf('getUpdates').length
      const isReady = async (): Promise<boolean> => {
        if (child.exitCode !== null) throw new Error(`OpenClaw has ended: ${log().slice(-3_000)}`)
        const answers = await callGateway(port, 'health', {}).then(
          () => true,
          () => false,
        )
        return answers && parts.telegram.callsOf('getUpdates').length > polls
      }
      const until = performance.now() + 400_000
      while (!(await isReady())) {
        if (performance.now() > until) throw new Error(`OpenClaw does not get ready: ${log().slice(-3_000)}`)
        await pause(100)
      }
      return child
    },
    call: (method, params = {}) => callGateway(port, method, params),
    editConfig(change) {
      const config = JSON.parse(readFileSync(configFile, 'utf8')) as Record<string, unknown>
      change(config)
      writeFileSync(configFile, JSON.stringify(config, null, 2))
    },
  }
}

function configOf(
  { version, modelUrl, telegram, owner }: OpenClawParts,
  port: number,
  stateDir: string,
): object {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  const model = { id: 'scripted', name: 'scripted', reasoning: false, input: ['text'], cost }
  return {
    gateway: { mode: 'local', port, bind: 'loopback', auth: { mode: 'token', token } },
    models: {
      providers: {
        stub: {
          baseUrl: modelUrl,
          apiKey: 'test-key',
          api: 'anthropic-messages',
          models: [{ ...model, contextWindow: 200_000, maxTokens: 8_000 }],
        },
      },
    },
    agents: {
      defaults: {
        model: { primary: 'stub/scripted' },
        workspace: join(stateDir, 'workspace'),
        skipBootstrap: true,
      },
    },
    channels: {
      telegram: {
        enabled: true,
        botToken: telegram.token,
        dmPolicy: 'allowlist',
        allowFrom: [String(owner)],
        ...(version === '2026.9.6' ? { apiRoot: telegram.root } : {}),
      },
    },
    ...(version === '2026.9.6' ? { commands: { ownerAllowFrom: [`telegram:${owner}`] } } : {}),
  }
}

/** 2026.1.30 has no setting for the address of Telegram's API, so the requests are sent to loopback in its process. */
function telegramOnLoopback({ root, telegram }: OpenClawParts): string {
  const file = join(root, 'telegram-on-loopback.mjs')
  const code = `const real = globalThis.fetch
const address = (input) => String(input?.url ?? input).replace('https://api.telegram.org', '${telegram.root}')
globalThis.fetch = Object.assign((input, init) => real(input instanceof Request ? new Request(address(input), input) : address(input), init), real)\n`
  writeFileSync(file, code)
  return file
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

interface GatewayFrame {
  type: string
  id?: string
  event?: string
  ok: boolean
  payload?: unknown
  error?: { message: string }
}

/** One connection for one call: the handshake is part of what is tested. */
function callGateway(port: number, method: string, params: object): Promise<GatewayFrame> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`)
    const send = (id: string, name: string, input: object): void =>
      socket.send(JSON.stringify({ type: 'req', id, method: name, params: input }))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the connection was closed')))
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as GatewayFrame
      if (frame.event === 'connect.challenge') send('connect', 'connect', introduction)
      if (frame.type === 'res' && frame.id === 'connect') {
        if (frame.ok) send('call', method, params)
        else reject(new Error(frame.error?.message))
      }
      if (frame.type === 'res' && frame.id === 'call') {
        resolve(frame)
        socket.close()
      }
    })
  })
}

const introduction = {
  minProtocol: 3,
  maxProtocol: 4,
  client: { id: 'gateway-client', version: '1.0.0', platform: 'linux', mode: 'backend' },
  role: 'operator',
  scopes: ['operator.admin', 'operator.read', 'operator.write', 'operator.approvals'],
  auth: { token },
}
