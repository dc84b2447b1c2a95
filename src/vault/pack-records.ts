// The records of a pack file: a header with its own checksum, a table of chunks, and the compressed content with another
// checksum. Every byte of a pack belongs to one of them, so a changed byte is always noticed; and the next record is found again
// after a damaged one.
import { crc32 } from 'node:zlib'

const recordKinds = ['chunks', 'files', 'removal'] as const
/** `chunks`: pieces of files, compressed together. `files`: versions of kept files, each with the list of its chunks. `removal`: a
 *  session that was removed. */
export type RecordKind = (typeof recordKinds)[number]

/** A chunk in a record: its name, and how long it is. */
export interface TableEntry {
  name: Buffer
  bytes: number
}

interface RecordHeader {
  kind: RecordKind
  isSealed: boolean
  /** How many chunks it has; no other kind has a table. */
  chunkCount: number
  hasTable: boolean
  /** The length of the content as stored, and before it was compressed. */
  storedBytes: number
  rawBytes: number
  /** Of chunks the hash of the table, which has the names of all chunks. Otherwise the hash of the content. */
  hash: Buffer
  contentChecksum: number
}

/** Where a record is. */
export interface RecordPlace {
  pack: string
  offset: number
  header: RecordHeader
}

const magic = Buffer.from('RPv2')
/** Records of the first version have one chunk or one file each, and no table. They are read, never written. */
const firstMagic = Buffer.from('RPv1')
const anyMagic = Buffer.from('RPv')
export const headerBytes = 56
const nameBytes = 32
const entryBytes = nameBytes + 4
/** Larger content is not written, so a larger length is damage; or forged, to fill the memory when it is unpacked. */
const mostBytes = 64 * 1024 * 1024
const sealedBit = 0x80

interface RecordParts {
  kind: RecordKind
  isSealed: boolean
  table: Buffer
  hash: Buffer
  rawBytes: number
  content: Buffer
}

export function encodeRecord({ kind, isSealed, table, hash, rawBytes, content }: RecordParts): Buffer {
  const bytes = Buffer.allocUnsafe(headerBytes + table.length + content.length).fill(0, 0, headerBytes)
  magic.copy(bytes, 0)
  bytes[4] = recordKinds.indexOf(kind) | (isSealed ? sealedBit : 0)
  bytes.writeUInt16LE(table.length / entryBytes, 6)
  bytes.writeUInt32LE(content.length, 8)
  bytes.writeUInt32LE(rawBytes, 12)
  hash.copy(bytes, 16, 0, nameBytes)
  bytes.writeUInt32LE(crc32(content), 48)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 52)), 52)
  table.copy(bytes, headerBytes)
  content.copy(bytes, headerBytes + table.length)
  return bytes
}

/** The header at `offset`; undefined if there is none, or a damaged one. */
export function decodeHeader(bytes: Buffer, offset = 0): RecordHeader | undefined {
  if (bytes.length - offset < headerBytes) return undefined
  const header = bytes.subarray(offset, offset + headerBytes)
  const kind = recordKinds[header[4]! & ~sealedBit]
  const isFirst = header.subarray(0, 4).equals(firstMagic)
  const isOurs =
    (isFirst || header.subarray(0, 4).equals(magic)) &&
    header.readUInt32LE(52) === crc32(header.subarray(0, 52))
  const isTooLarge = Math.max(header.readUInt32LE(8), header.readUInt32LE(12)) > mostBytes
  if (!isOurs || kind === undefined || isTooLarge) return undefined
  return {
    kind,
    isSealed: (header[4]! & sealedBit) !== 0,
    chunkCount: isFirst ? Number(kind === 'chunks') : header.readUInt16LE(6),
    hasTable: !isFirst,
    storedBytes: header.readUInt32LE(8),
    rawBytes: header.readUInt32LE(12),
    hash: Buffer.from(header.subarray(16, 16 + nameBytes)),
    contentChecksum: header.readUInt32LE(48),
  }
}

export function encodeTable(entries: readonly TableEntry[]): Buffer {
  const table = Buffer.allocUnsafe(entries.length * entryBytes)
  for (const [i, { name, bytes }] of entries.entries()) {
    name.copy(table, i * entryBytes, 0, nameBytes)
    table.writeUInt32LE(bytes, i * entryBytes + nameBytes)
  }
  return table
}

export function decodeTable(table: Buffer): TableEntry[] {
  return Array.from({ length: table.length / entryBytes }, (_, i) => {
    const at = i * entryBytes
    return {
      name: Buffer.from(table.subarray(at, at + nameBytes)),
      bytes: table.readUInt32LE(at + nameBytes),
    }
  })
}

export function tableBytes({ chunkCount, hasTable }: RecordHeader): number {
  return hasTable ? chunkCount * entryBytes : 0
}

/** The length of a whole record. */
export function recordBytes(header: RecordHeader): number {
  return headerBytes + tableBytes(header) + header.storedBytes
}

/** Where the next record may begin, at or after `offset`; -1 if nowhere in `bytes`. */
export function nextMagic(bytes: Buffer, offset: number): number {
  return bytes.indexOf(anyMagic, offset)
}

/** A write that was interrupted leaves the beginning of a record, or zeros where the system had not written the bytes. */
export function looksUnfinished(bytes: Buffer): boolean {
  const header = decodeHeader(bytes)
  if (header) return bytes.length < recordBytes(header)
  if (bytes.every((byte) => byte === 0)) return true
  return (
    bytes.length < headerBytes && bytes.subarray(0, 3).equals(anyMagic.subarray(0, Math.min(3, bytes.length)))
  )
}
