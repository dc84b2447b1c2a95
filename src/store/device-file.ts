// The owner's devices, and the keys for notifications to them, in credentials/devices.json.
import { createECDH, createHmac, timingSafeEqual } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { deviceSchema } from '../domain/device.ts'
import type { Device, DeviceKeys } from '../domain/device.ts'
import { RockpoolError } from '../domain/errors.ts'
import { FileLock } from './disk/file-lock.ts'
import { makePrivateFile, readPrivateFile, writePrivateFile } from './disk/private-file.ts'
import { adminHashes, newToken } from './gateway-tokens.ts'

const deviceFile = z.object({
  vapid: z.object({ publicKey: z.string(), privateKey: z.string() }),
  answerSecret: z.string(),
  devices: z.array(deviceSchema),
})
type DeviceFile = z.infer<typeof deviceFile>

/** The owner's devices whose token is still valid. Without the file there are none, and nothing is written. */
export function readDevices(stateDir: string): Device[] {
  return withValidToken(readStoredDevices(stateDir), stateDir)
}

/** Also those whose token is no longer valid. */
export function readStoredDevices(stateDir: string): Device[] {
  return readFile(stateDir)?.devices ?? []
}

function withValidToken(devices: Device[], stateDir: string): Device[] {
  if (devices.length === 0) return devices
  const valid = adminHashes(stateDir)
  return devices.filter(({ addedWith }) => addedWith === undefined || valid.has(addedWith))
}

/** Runs a change of tokens and removes the devices that it ends. `endsOperators`: the operator's token changes. Resolves to the names
 *  of these devices. */
export async function endingDevices(
  stateDir: string,
  changeTokens: () => Promise<void> | void,
  endsOperators: boolean,
): Promise<string[]> {
  const before = readDevices(stateDir)
  await changeTokens()
  if (before.length === 0) return []
  const left = await changeDevices(stateDir, (devices) =>
    devices.filter(({ addedWith }) => !endsOperators || addedWith !== undefined),
  )
  return before.filter(({ id }) => !left.some((device) => device.id === id)).map(({ name }) => name)
}

/** The devices after the change. Changes of all processes run one after another. */
export async function changeDevices(
  stateDir: string,
  change: (devices: Device[]) => Device[],
): Promise<Device[]> {
  const path = devicesFile(stateDir)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return new FileLock(path).hold('change the devices', async (held) => {
    const file = ensureFile(stateDir)
    const devices = change(withValidToken(file.devices, stateDir))
    held.confirm()
    writePrivateFile(path, textOf({ ...file, devices }))
    return devices
  })
}

export function deviceKeys(stateDir: string): DeviceKeys {
  return {
    find: (id) => readDevices(stateDir).find((device) => device.id === id),
    vapid: () => ensureFile(stateDir).vapid,
    sign: (deviceId, answer) => signature(ensureFile(stateDir).answerSecret, deviceId, answer),
    async remove(id) {
      await changeDevices(stateDir, (devices) => devices.filter((device) => device.id !== id))
    },
  }
}

/** The device that a signed answer comes from; undefined if the signature is wrong or the device was removed. */
export function deviceOfAnswer(
  stateDir: string,
  { deviceId, answer, signed }: { deviceId: string; answer: string; signed: string },
): Device | undefined {
  const device = readDevices(stateDir).find(({ id }) => id === deviceId)
  if (!device) return undefined
  const expected = Buffer.from(deviceKeys(stateDir).sign(deviceId, answer))
  const given = Buffer.from(signed)
  return expected.length === given.length && timingSafeEqual(expected, given) ? device : undefined
}

function signature(secret: string, deviceId: string, answer: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([deviceId, answer]))
    .digest('base64url')
}

export function devicesFile(stateDir: string): string {
  return join(stateDir, 'credentials', 'devices.json')
}

function readFile(stateDir: string): DeviceFile | undefined {
  const text = readPrivateFile(devicesFile(stateDir))
  return text === undefined ? undefined : parse(text, stateDir)
}

function ensureFile(stateDir: string): DeviceFile {
  const made: DeviceFile = { vapid: newVapidKeys(), answerSecret: newToken(), devices: [] }
  return parse(makePrivateFile(devicesFile(stateDir), textOf(made)), stateDir)
}

function parse(text: string, stateDir: string): DeviceFile {
  try {
    return deviceFile.parse(JSON.parse(text))
  } catch (cause) {
    throw new RockpoolError('damaged', `${devicesFile(stateDir)} is not a list of devices.`, {
      hint: '`rockpool doctor --fix` sets it aside; then add the devices again.',
      cause,
    })
  }
}

function textOf(file: DeviceFile): string {
  return `${JSON.stringify(file, null, 2)}\n`
}

/** A key pair on the curve P-256, in the form that browsers and push servers use. */
function newVapidKeys(): DeviceFile['vapid'] {
  const pair = createECDH('prime256v1')
  pair.generateKeys()
  // A private key that begins with zeros is shorter; web-push expects 32 bytes.
  const privateKey = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()]).subarray(-32)
  return {
    publicKey: pair.getPublicKey().toString('base64url'),
    privateKey: privateKey.toString('base64url'),
  }
}
