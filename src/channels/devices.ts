// The owner's devices as a channel: browsers by Web Push, phones by ntfy. Rockpool only sends here; a press on Allow or Deny
// comes back as a signed answer (POST /answers of the gateway).
import type { Address } from '../domain/address.ts'
import type { Channel, ChannelAbilities, ChannelHost, SendOptions, SendOutcome } from '../domain/channel.ts'
import { deviceChannel } from '../domain/device.ts'
import type { Device, DeviceKeys } from '../domain/device.ts'
import { errorText } from '../domain/errors.ts'
import type { Reply } from '../domain/reply.ts'
import { BaseChannel } from './base-channel.ts'

const timeoutMs = 20_000
/** Push servers keep a notification this long for a device that is off. */
const keepSeconds = 24 * 60 * 60
/** Push servers accept 4,096 bytes, encrypted. */
const maxBodyBytes = 2_000
/** Phones and desktops show about this much of a notification, and hide the rest without a word. */
const shownLines = 4
const bytesOfLine = 40
const bytesOfTab = 8

export interface DeviceParts {
  keys: DeviceKeys
  /** Where a phone reaches the gateway, such as `https://rockpool.example.org`; undefined when it only listens on this machine. */
  publicUrl: () => string | undefined
}

/** What a device shows. */
interface Notification {
  title: string
  body: string
  /** The view of the dashboard that has more. */
  path: string
  /** A later notification with the same tag replaces it. */
  tag: string
  answers: Array<{ label: string; deviceId: string; answer: string; signed: string }>
}

export class DeviceChannel extends BaseChannel implements Channel {
  readonly abilities: ChannelAbilities = {
    maxTextLength: 100_000,
    formatting: 'plain',
  }

  #parts: DeviceParts

  constructor(host: ChannelHost, parts: DeviceParts) {
    super(deviceChannel, 'default', host)
    this.#parts = parts
  }

  async start(): Promise<void> {
    this.setStatus('connected')
  }

  async stop(): Promise<void> {
    this.setStatus('stopped')
  }

  async send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    const device = this.#parts.keys.find(address.to)
    if (!device) return { kind: 'refused', reason: 'This device was removed.' }
    const notification = this.#notificationOf(device, reply, options)
    const request =
      device.kind === 'ntfy'
        ? ntfyRequest(device, notification, this.#parts.publicUrl(), options.resent)
        : await pushRequest(device, notification, this.#parts.keys.vapid())
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      // The person has chosen this server; a redirect could lead to plain http, or into the network of this machine.
      const response = await fetch(request.url, { ...request.init, signal, redirect: 'manual' })
      await response.body?.cancel()
      return await this.#outcomeOf(response, device)
    } catch (error) {
      return { kind: 'unknown', reason: `${new URL(device.url).host} did not answer: ${errorText(error)}` }
    }
  }

  async #outcomeOf(response: Response, device: Device): Promise<SendOutcome> {
    const { status } = response
    if (response.ok) return { kind: 'sent', messageIds: [] }
    const reason = `${new URL(device.url).host} answered ${status}.`
    if (device.kind === 'web-push' && (status === 404 || status === 410)) {
      // The person has withdrawn the permission, or removed the browser.
      await this.#parts.keys.remove(device.id)
      return { kind: 'refused', reason }
    }
    if (status !== 429 && status < 500) return { kind: 'refused', reason }
    const seconds = Number(response.headers.get('retry-after')) || 30
    return { kind: 'retry', reason, retryAfterMs: seconds * 1_000 }
  }

  #notificationOf(device: Device, reply: Reply, options: SendOptions): Notification {
    const [title = 'Rockpool', ...lines] = (reply.text ?? '').split('\n')
    const text = lines.join('\n')
    // A person must see all of a request before allowing it. A press on the notification opens the page, which shows all of it.
    const buttons = isShownWhole(text) ? (reply.buttons?.[0] ?? []) : []
    const answers = buttons.map(({ label, data: answer }) => ({
      label,
      deviceId: device.id,
      answer,
      signed: this.#parts.keys.sign(device.id, answer),
    }))
    return {
      title,
      body: shortened(text),
      path: pagePath(options.sessionKey),
      // Each request has a tag of its own: if one replaced another at the moment of a press, it would get the answer to the other one.
      tag: answers.length > 0 ? options.idempotencyKey : (options.sessionKey ?? options.idempotencyKey),
      answers,
    }
  }
}

interface Request {
  url: string
  init: RequestInit
}

/** Encrypted for the browser: the push server cannot read it. */
async function pushRequest(
  device: Device,
  notification: Notification,
  vapid: ReturnType<DeviceKeys['vapid']>,
): Promise<Request> {
  const { default: webPush } = await import('web-push')
  const { endpoint, method, headers, body } = webPush.generateRequestDetails(
    { endpoint: device.url, keys: device.keys ?? { p256dh: '', auth: '' } },
    JSON.stringify(notification),
    {
      // Push servers want to know whom to write to; a Rockpool has no address of its own.
      vapidDetails: { subject: 'mailto:owner@rockpool.invalid', ...vapid },
      TTL: keepSeconds,
      urgency: 'high',
      contentEncoding: 'aes128gcm',
    },
  )
  return {
    url: endpoint,
    init: { method, headers, body: new Uint8Array(body) },
  }
}

/** The ntfy server can read this. Buttons need an address at which the phone reaches the gateway. */
function ntfyRequest(
  device: Device,
  { title, body, path, answers }: Notification,
  publicUrl: string | undefined,
  isMaybeSecond: boolean,
): Request {
  const url = new URL(device.url)
  const topic = url.pathname.split('/').findLast((part) => part !== '')
  url.pathname = url.pathname.replace(/[^/]*\/*$/, '')
  const actions = answers.map(({ label, ...answer }) => ({
    action: 'http',
    label,
    url: `${publicUrl}/answers`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(answer),
    clear: true,
  }))
  const message = {
    topic,
    title: isMaybeSecond ? `${title} (maybe a second copy)` : title,
    message: body,
    ...(publicUrl === undefined ? {} : { click: `${publicUrl}${path}`, actions }),
  }
  const authorization = device.token === undefined ? {} : { authorization: `Bearer ${device.token}` }
  return {
    url: url.href,
    init: {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization },
      body: JSON.stringify(message),
    },
  }
}

/** The page of the session that the notification is about. */
function pagePath(sessionKey = ''): string {
  const [kind, id] = sessionKey.split(':', 2)
  if (kind === 'coding') return `/coding/${id}`
  return kind === 'native' ? `/session/${id}` : '/'
}

/** Counts bytes: letters of several bytes are wider than one of a single byte. Most systems draw a tab as wide as eight letters. */
function isShownWhole(text: string): boolean {
  const spaced = text.replaceAll('\t', ' '.repeat(bytesOfTab))
  const lines = spaced
    .split('\n')
    .map((line) => Math.max(1, Math.ceil(Buffer.byteLength(line) / bytesOfLine)))
  return lines.reduce((sum, count) => sum + count, 0) <= shownLines
}

function shortened(text: string): string {
  if (Buffer.byteLength(text) <= maxBodyBytes) return text
  const cut = Buffer.from(text)
    .subarray(0, maxBodyBytes)
    .toString('utf8')
    .replace(/\uFFFD$/, '')
  return `${cut}…`
}
