// JSON of a large answer, made in parts, so that other requests are served in between.
import { jsonText } from '../domain/json.ts'

const partLength = 250

/** Text for a small answer, bytes for a large one. */
export async function stringifyInParts(value: unknown): Promise<string | Buffer> {
  if (!hasLongList(value)) return jsonText(value)
  const written: Buffer[] = []
  await write(value, written)
  return Buffer.concat(written)
}

async function write(value: unknown, to: Buffer[]): Promise<void> {
  if (!hasLongList(value)) to.push(Buffer.from(jsonText(value)))
  else if (Array.isArray(value)) await writeList(value, to)
  else await writeObject(value as object, to)
}

async function writeObject(value: object, to: Buffer[]): Promise<void> {
  let before = '{'
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    to.push(Buffer.from(`${before}${jsonText(key)}:`))
    await write(inner, to)
    before = ','
  }
  to.push(Buffer.from('}'))
}

async function writeList(list: unknown[], to: Buffer[]): Promise<void> {
  for (let start = 0; start < list.length; start += partLength) {
    const inner = jsonText(list.slice(start, start + partLength)).slice(1, -1)
    to.push(Buffer.from(`${start === 0 ? '[' : ','}${inner}`))
    await new Promise((resolve) => setImmediate(resolve))
  }
  to.push(Buffer.from(']'))
}

/** Answers have their lists at most two levels below the frame. */
function hasLongList(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length > partLength
  if (depth === 2) return false
  for (const key in value) if (hasLongList((value as Record<string, unknown>)[key], depth + 1)) return true
  return false
}
