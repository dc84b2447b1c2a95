// Devices of the owner that get notifications without a chat: browsers (Web Push) and topics of an ntfy server.
import { z } from 'zod'
import type { Address } from './address.ts'

export const deviceSchema = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.enum(['web-push', 'ntfy']),
  /** The endpoint of the browser's push server, or the address of the topic. */
  url: z.string(),
  /** Of the browser: what is sent is encrypted for it. */
  keys: z.object({ p256dh: z.string(), auth: z.string() }).optional(),
  /** The access token of the ntfy server. */
  token: z.string().optional(),
  addedAt: z.number(),
  /** The hash of the gateway token with which it was added; the page and the command line have the operator's. When the token is
   *  replaced or removed, the device gets nothing more. Absent in devices of earlier versions, which are the operator's. */
  addedWith: z.string().optional(),
})
export type Device = z.infer<typeof deviceSchema>

export const deviceChannel = 'device'

export function addressOfDevice(id: string): Address {
  return { channel: deviceChannel, accountId: 'default', to: id }
}

/** The stored devices as the channel of devices uses them. */
export interface DeviceKeys {
  find(id: string): Device | undefined
  /** The key pair by which push servers recognize this Rockpool. */
  vapid(): { publicKey: string; privateKey: string }
  /** Proves that an answer comes from a notification that this device got. */
  sign(deviceId: string, answer: string): string
  /** The push server no longer knows the device. */
  remove(id: string): Promise<void>
}
