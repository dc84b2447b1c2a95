// The records of a pack file: a header with its own checksum, then the compressed content with another. Every byte of a pack
// belongs to one of the two, so a changed byte is always noticed; and the next record is found again after a damaged one.
import { crc32 } from 'node:zlib'

export const recordKinds = ['chunk', 'file', 'removal'] as const
/** `chunk`: a piece of a file. `file`: a version of a kept file, the list of its chunks. `removal`: a session that was removed. */
export type RecordKind = (typeof recordKinds)[number]

export interface RecordHeader {
  kind: RecordKind
  isSealed: boolean
  /** The length of the content as stored, and before it was compressed. */
  storedBytes: number
  rawBytes: number
  /** The hash of the content before it was compressed: its name. */
  hash: Buffer
  contentChecksum: number
}

/** Where a record is. */
export interface RecordPlace {
  pack: string
  offset: number
  header: RecordHeader
}

const magic = Buffer.from('RPv1')
export const headerBytes = 56
/** Larger content is not written, so a larger length is damage. */
const mostBytes = 64 * 1024 * 1024
const sealedBit = 0x80

export function encodeRecord(
  header: Omit<RecordHeader, 'storedBytes' | 'contentChecksum'>,
  content: Buffer,
): Buffer {
  const bytes = Buffer.alloc(headerBytes + content.length)
  magic.copy(bytes, 0)
  bytes[4] = recordKinds.indexOf(header.kind) | (header.isSealed ? sealedBit : 0)
  bytes.writeUInt32LE(content.length, 8)
  bytes.writeUInt32LE(header.rawBytes, 12)
  header.hash.copy(bytes, 16, 0, 32)
  bytes.writeUInt32LE(crc32(content), 48)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 52)), 52)
  content.copy(bytes, headerBytes)
  return bytes
}

/** The header at `offset`; undefined if there is none, or a damaged one. */
export function decodeHeader(bytes: Buffer, offset = 0): RecordHeader | undefined {
  if (bytes.length - offset < headerBytes) return undefined
  const header = bytes.subarray(offset, offset + headerBytes)
  const kind = recordKinds[header[4]! & ~sealedBit]
  const isOurs =
    header.subarray(0, 4).equals(magic) && header.readUInt32LE(52) === crc32(header.subarray(0, 52))
  if (!isOurs || kind === undefined || header.readUInt32LE(8) > mostBytes) return undefined
  return {
    kind,
    isSealed: (header[4]! & sealedBit) !== 0,
    storedBytes: header.readUInt32LE(8),
    rawBytes: header.readUInt32LE(12),
    hash: Buffer.from(header.subarray(16, 48)),
    contentChecksum: header.readUInt32LE(48),
  }
}

/** Where the next record may begin, at or after `offset`; -1 if nowhere in `bytes`. */
export function nextMagic(bytes: Buffer, offset: number): number {
  return bytes.indexOf(magic, offset)
}

/** A write that was interrupted leaves the beginning of a record, or zeros where the system had not written the bytes. */
export function looksUnfinished(bytes: Buffer): boolean {
  const header = decodeHeader(bytes)
  if (header) return bytes.length < headerBytes + header.storedBytes
  if (bytes.every((byte) => byte === 0)) return true
  return (
    bytes.length < headerBytes && bytes.subarray(0, 4).equals(magic.subarray(0, Math.min(4, bytes.length)))
  )
}
