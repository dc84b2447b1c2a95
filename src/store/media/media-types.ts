// Detects the type of a file. The first bytes win over what the sender claims, because a file that is not a picture must never be
// passed on as one.
import { extname } from 'node:path'
import type { Media } from '../../domain/message.ts'

/** Every extension that a stored file may have. The first extension of a type is the one we use. */
export const typesByExtension: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  ogg: 'audio/ogg',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  webm: 'video/webm',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json',
  zip: 'application/zip',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  bin: 'application/octet-stream',
}

const unknownType = 'application/octet-stream'

const signatures: Array<{ type: string; at: number; bytes: string }> = [
  { type: 'image/png', at: 0, bytes: '89504e470d0a1a0a' },
  { type: 'image/jpeg', at: 0, bytes: 'ffd8ff' },
  { type: 'image/gif', at: 0, bytes: '47494638' },
  { type: 'image/webp', at: 8, bytes: '57454250' },
  { type: 'application/pdf', at: 0, bytes: '25504446' },
  { type: 'audio/ogg', at: 0, bytes: '4f676753' },
  { type: 'audio/wav', at: 8, bytes: '57415645' },
]

/** By the first bytes, then the claim of the sender, then the name. A claimed picture must begin like one. */
export function sniffType(head: Uint8Array, about: { name?: string; mimeType?: string }): string {
  const hex = Buffer.from(head).toString('hex')
  const seen = signatures.find(({ at, bytes }) => hex.startsWith(bytes, at * 2))
  if (seen) return seen.type
  const claimed = (about.mimeType ?? '').split(';')[0]!.trim().toLowerCase()
  const known = Object.values(typesByExtension).includes(claimed) ? claimed : typeOfName(about.name ?? '')
  return known.startsWith('image/') ? unknownType : known
}

export function typeOfName(name: string): string {
  const extension = extname(name).slice(1).toLowerCase()
  return Object.hasOwn(typesByExtension, extension) ? typesByExtension[extension]! : unknownType
}

export function kindOf(mimeType: string): Media['kind'] {
  const [family] = mimeType.split('/')
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'file'
}
