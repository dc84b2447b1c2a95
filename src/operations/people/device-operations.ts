// Devices of the owner: browsers and phones that are notified when a session needs the owner.
import { randomBytes, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { addressOfDevice, deviceSchema } from '../../domain/device.ts'
import type { Device } from '../../domain/device.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { changeDevices, deviceKeys, readDevices } from '../../store/device-file.ts'
import { tokenHash } from '../../store/gateway-tokens.ts'
import type { App } from '../app.ts'
import { operation, type Caller } from '../operation.ts'

/** Keys and tokens are secrets. */
const deviceRow = deviceSchema
  .omit({ keys: true, token: true, url: true, addedWith: true })
  .extend({ server: z.string() })

function rowOf({ id, name, kind, url, addedAt }: Device): z.infer<typeof deviceRow> {
  return { id, name, kind, server: new URL(url).host, addedAt }
}

const list = operation({
  name: 'devices.list',
  description: 'List the browsers and phones that are notified when a session needs you.',
  input: z.strictObject({}),
  output: z.object({ devices: z.array(deviceRow) }),
  scope: 'admin',
  command: { examples: ['rockpool devices list'] },
  run: async (app) => ({ devices: readDevices(app.paths.root).map(rowOf) }),
})

const key = operation({
  name: 'devices.key',
  description: 'Show the public key with which a browser subscribes to notifications.',
  input: z.strictObject({}),
  output: z.object({ publicKey: z.string() }),
  scope: 'admin',
  command: { hidden: true },
  run: async (app) => ({ publicKey: deviceKeys(app.paths.root).vapid().publicKey }),
})

const add = operation({
  name: 'devices.add',
  description: 'Send notifications to a topic of an ntfy server, or to a browser.',
  input: z.strictObject({
    url: z
      .url({ protocol: /^https?$/ })
      .max(2_000)
      .describe('The topic, such as https://ntfy.sh/my-secret-topic.'),
    name: z.string().trim().min(1).max(64).optional().describe('What to call it.'),
    token: z.string().min(1).max(500).optional().describe('The access token of the ntfy server.'),
    keys: z
      .strictObject({ p256dh: z.string().max(200), auth: z.string().max(100) })
      .optional()
      .describe('The keys of a browser; the dashboard sends them.'),
  }),
  output: z.object({ device: deviceRow }),
  scope: 'admin',
  changesState: true,
  command: {
    positional: ['url'],
    implied: ['keys'],
    examples: [
      'rockpool devices add https://ntfy.sh/my-secret-topic',
      'rockpool devices add https://ntfy.example.org/alerts --name phone',
    ],
  },
  async run(app, { url, name, token, keys }, caller) {
    checkAddress(url)
    const addedWith = tokenOf(app, caller)
    const id = randomBytes(6).toString('hex')
    const kind = keys ? 'web-push' : 'ntfy'
    const device: Device = {
      id,
      kind,
      url,
      name: name ?? new URL(url).host,
      token,
      keys,
      addedAt: app.clock.now(),
      addedWith,
    }
    // A browser that subscribes again has the same address; it replaces the earlier entry.
    await changeDevices(app.paths.root, (devices) => [...devices.filter((one) => one.url !== url), device])
    return { device: rowOf(device) }
  },
})

/** The hash of the caller's token: the page and the command line have the rights of the operator's. */
function tokenOf(app: App, { name = '' }: Caller): string {
  const hash = tokenHash(app.paths.root, /^token:(.+)$/s.exec(name)?.[1])
  if (hash !== undefined) return hash
  throw new RockpoolError('unauthorized', 'The token of this call was removed.')
}

/** Notifications contain commands and file names, so they do not leave this machine in plain text. */
function checkAddress(url: string): void {
  const { protocol, hostname, pathname } = new URL(url)
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  if (protocol !== 'https:' && !isLocal)
    throw new RockpoolError('input-invalid', `${url} is not encrypted.`, {
      hint: 'Use an address with https://.',
    })
  if (pathname === '/')
    throw new RockpoolError('input-invalid', `${url} names no topic.`, {
      hint: 'Add the topic: https://ntfy.sh/my-secret-topic',
    })
}

const remove = operation({
  name: 'devices.remove',
  description: 'Stop notifications to a device.',
  input: z.strictObject({ id: z.string().min(1).describe('The device, by its id or name.') }),
  output: z.object({ device: deviceRow }),
  scope: 'admin',
  changesState: true,
  command: { positional: ['id'], acceptsYes: true, examples: ['rockpool devices remove phone'] },
  async run(app, input) {
    const device = findDevice(readDevices(app.paths.root), input.id)
    await deviceKeys(app.paths.root).remove(device.id)
    return { device: rowOf(device) }
  },
})

const test = operation({
  name: 'devices.test',
  description: 'Send a test notification to a device.',
  input: z.strictObject({ id: z.string().min(1).describe('The device, by its id or name.') }),
  output: z.object({ device: deviceRow }),
  scope: 'admin',
  changesState: true,
  needsGateway: true,
  command: { positional: ['id'], examples: ['rockpool devices test phone'] },
  async run(app, input) {
    const device = findDevice(readDevices(app.paths.root), input.id)
    const id = randomUUID()
    const delivery = {
      id,
      lane: `device:${device.id}`,
      address: addressOfDevice(device.id),
      reply: { text: 'Rockpool\nNotifications work.' },
      idempotencyKey: `device-test:${id}`,
      createdAt: app.clock.now(),
    }
    await app.storage.work.outbox.leave([delivery])
    return { device: rowOf(device) }
  },
})

function findDevice(devices: Device[], ref: string): Device {
  const found = devices.filter(({ id, name }) => id === ref || name === ref)
  if (found.length === 1) return found[0]!
  const hint = '`rockpool devices list` shows them.'
  if (found.length === 0)
    throw new RockpoolError('not-found', `There is no device ${JSON.stringify(ref)}.`, { hint })
  throw new RockpoolError('ambiguous', `Several devices are called ${JSON.stringify(ref)}.`, { hint })
}

export const operations = [list, key, add, remove, test]
