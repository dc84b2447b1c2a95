// The HTTP server for Telegram's webhook. The secret is checked before the body is read, and the answer is 200 only when
// the update is durable.
import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Update } from 'grammy/types'
import type { TelegramWebhook } from '../domain/config/channel-settings.ts'
import { RockpoolError, errorText } from '../domain/errors.ts'
import { parseRecord } from '../domain/json.ts'
import type { Log } from '../domain/log.ts'

const maxBodyBytes = 1_048_576

export async function listenForUpdates(
  webhook: TelegramWebhook,
  log: Log,
  take: (update: Update) => Promise<void>,
): Promise<{ port: number; close(): Promise<void> }> {
  const path = new URL(webhook.url).pathname
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, (request, response) => {
    void answer(request, path, webhook.secret, take)
      .catch((error: unknown) => {
        const reason = errorText(error)
        log.error(
          { event: 'webhook-update-failed', error: reason },
          'Could not process a webhook update; Telegram will send it again.',
        )
        return 500
      })
      .then((status) => reply(response, status))
  })
  server.listen(webhook.port, webhook.host)
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}

async function answer(
  request: IncomingMessage,
  path: string,
  secret: string,
  take: (update: Update) => Promise<void>,
): Promise<number> {
  const given = request.headers['x-telegram-bot-api-secret-token']
  if (typeof given !== 'string' || !sameSecret(given, secret)) return 401
  if (request.method !== 'POST') return 405
  if (new URL(request.url ?? '/', 'http://localhost').pathname !== path) return 404
  const body = await readBody(request)
  if (body === undefined) return 413
  const update = parseRecord(body)
  if (update?.['update_id'] === undefined) return 400
  await take(update as unknown as Update)
  return 200
}

function reply(response: ServerResponse, status: number): void {
  // A refused client may still be sending its body; we do not read it.
  response.writeHead(status, status === 200 ? {} : { connection: 'close' }).end()
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function sameSecret(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

export function refuseBlankSecret(webhook: TelegramWebhook): void {
  if (webhook.secret.trim().length >= 16) return
  throw new RockpoolError(
    'config-invalid',
    'The Telegram webhook has no secret, so anybody could write to the agent.',
    {
      hint: 'Set channels.telegram.webhook.secret to 16 or more letters and digits, or remove `webhook` to poll.',
    },
  )
}
