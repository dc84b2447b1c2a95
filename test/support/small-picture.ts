// A screenshot for docs/ at a third of its size: the browser writes three bytes for every point, and few of them differ.
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const signature = Buffer.from('89504e470d0a1a0a', 'hex')
const maxColours = 256
const brightColours = 64

/** The same picture, a PNG with a palette of 256 colours; every other one becomes its nearest of those. */
export function smallPicture(png: Buffer): Buffer {
  const { width, height, points } = decode(png)
  const palette = paletteOf(points)
  const nearest = new Map(palette.map((colour, i) => [colour, i]))
  const lines = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const colour = points[y * width + x]!
      let place = nearest.get(colour)
      if (place === undefined) nearest.set(colour, (place = nearestTo(colour, palette)))
      lines[y * (width + 1) + 1 + x] = place
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((colour) => partsOf(colour)))
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

interface Picture {
  width: number
  height: number
  /** One number for each, 0xRRGGBB. */
  points: Uint32Array
}

/** As Chromium writes them: eight bits for each of three or four channels, not interlaced. */
function decode(png: Buffer): Picture {
  const width = png.readUInt32BE(16)
  const height = png.readUInt32BE(20)
  const channels = png[25] === 6 ? 4 : 3
  const stride = width * channels
  const packed = inflateSync(Buffer.concat(chunksOf(png, 'IDAT')))
  const bytes = Buffer.alloc(height * stride)
  for (let y = 0; y < height; y++) {
    const filter = packed[y * (stride + 1)]!
    for (let x = 0; x < stride; x++) {
      const left = x < channels ? 0 : bytes[y * stride + x - channels]!
      const up = y === 0 ? 0 : bytes[(y - 1) * stride + x]!
      const corner = x < channels || y === 0 ? 0 : bytes[(y - 1) * stride + x - channels]!
      bytes[y * stride + x] = packed[y * (stride + 1) + 1 + x]! + predicted(filter, left, up, corner)
    }
  }
  const points = new Uint32Array(width * height)
  for (let i = 0; i < points.length; i++) points[i] = bytes.readUIntBE(i * channels, 3)
  return { width, height, points }
}

/** PNG writes how a byte differs from what its neighbours let expect. */
function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const guess = left + up - corner
  const [toLeft, toUp, toCorner] = [left, up, corner].map((value) => Math.abs(guess - value))
  if (toLeft! <= toUp! && toLeft! <= toCorner!) return left
  return toUp! <= toCorner! ? up : corner
}

/** The most frequent colours, and the colours that differ most from them, for small bright things. */
function paletteOf(points: Uint32Array): number[] {
  const uses = new Map<number, number>()
  for (const colour of points) uses.set(colour, (uses.get(colour) ?? 0) + 1)
  const byUse = [...uses].sort((a, b) => b[1] - a[1]).map(([colour]) => colour)
  const palette = byUse.slice(0, maxColours - brightColours)
  const others = byUse.slice(palette.length)
  const gaps = others.map((colour) => Math.min(...palette.map((chosen) => distance(colour, chosen))))
  while (palette.length < Math.min(maxColours, byUse.length)) {
    const next = others[gaps.indexOf(Math.max(...gaps))]!
    palette.push(next)
    others.forEach((colour, i) => (gaps[i] = Math.min(gaps[i]!, distance(colour, next))))
  }
  return palette
}

function nearestTo(colour: number, palette: number[]): number {
  const distances = palette.map((other) => distance(colour, other))
  return distances.indexOf(Math.min(...distances))
}

function distance(one: number, other: number): number {
  return (
    ((one >> 16) - (other >> 16)) ** 2 +
    (((one >> 8) & 255) - ((other >> 8) & 255)) ** 2 +
    ((one & 255) - (other & 255)) ** 2
  )
}

function partsOf(colour: number): [red: number, green: number, blue: number] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255]
}

function chunksOf(png: Buffer, name: string): Buffer[] {
  const found: Buffer[] = []
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === name) found.push(png.subarray(at + 8, at + 8 + length))
    at += 12 + length
  }
  return found
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(named), 4)
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)])
}
