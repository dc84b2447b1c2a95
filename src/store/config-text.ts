// Changes one value in the text of a configuration file. Everything else stays as it was written: comments, order and format.
// Reads JSON5 only as far as it must to find the places of keys and values.

interface Node {
  start: number
  end: number
  /** Of an object. */
  members?: Member[]
}

interface Member {
  key: string
  keyStart: number
  value: Node
}

/** Sets the value at the path; `undefined` removes it. The text must be an object in JSON5. */
export function setInText(text: string, path: readonly string[], value: unknown): string {
  const root = new PlaceReader(text).read()
  let node = root
  for (const [depth, key] of path.entries()) {
    const member = node.members?.find((one) => one.key === key)
    if (!member) return value === undefined ? text : insert(text, node, path.slice(depth), value)
    if (depth === path.length - 1)
      return value === undefined ? remove(text, node, member) : replace(text, member.value, value)
    // A value that is no object cannot contain the rest of the path: an object takes its place.
    if (!member.value.members) return replace(text, member.value, nested(path.slice(depth + 1), value))
    node = member.value
  }
  return text
}

function replace(text: string, { start, end }: Node, value: unknown): string {
  return text.slice(0, start) + written(value, indentAt(text, start)) + text.slice(end)
}

function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
}

/** Several lines for an object, indented like the line that it begins on. */
function written(value: unknown, indent: string): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent}`)
}

function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1)
  return /^[ \t]*/.exec(line)![0]
}

function insert(text: string, node: Node, [key, ...rest]: readonly string[], value: unknown): string {
  const last = node.members?.at(-1)
  const outer = indentAt(text, node.start)
  const isOneLine = !text.slice(node.start, node.end).includes('\n')
  const indent = last && !isOneLine ? indentAt(text, last.keyStart) : `${outer}  `
  const isQuoted = !last || /["']/.test(text[last.keyStart]!) || !/^[\p{L}_$][\p{L}\d_$]*$/u.test(key!)
  const name = isQuoted ? JSON.stringify(key) : key
  const member = `${name}: ${written(nested(rest, value), isOneLine && last ? outer : indent)}`
  if (!last)
    return `${text.slice(0, node.start + 1)}\n${indent}${member}\n${outer}${text.slice(node.start + 1)}`
  const { end } = last.value
  // A comment at the end of the last line stays there.
  const [tail, comma] = /^[ \t]*(,?)(?:[ \t]*(?:\/\/[^\n]*|\/\*[^\n]*?\*\/))?/.exec(text.slice(end))!
  if (isOneLine) return `${text.slice(0, end)}, ${member}${text.slice(end)}`
  const line = text.slice(end, end + tail.length)
  const after = text.slice(end + tail.length)
  return `${text.slice(0, end)}${comma ? '' : ','}${line}\n${indent}${member}${comma}${after}`
}

/** With the comma that separates it from the next member, or from the one before. */
function remove(text: string, { members = [] }: Node, member: Member): string {
  const next = members[members.indexOf(member) + 1]
  const before = members[members.indexOf(member) - 1]
  if (next) return text.slice(0, member.keyStart) + text.slice(next.keyStart)
  const from = before ? before.value.end : member.keyStart
  return text.slice(0, from) + text.slice(member.value.end)
}

/** Finds where each key and value is. */
class PlaceReader {
  #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): Node {
    this.#skip()
    return this.#value()
  }

  #value(): Node {
    const start = this.#at
    const first = this.#text[start]
    if (first === '{') return this.#object(start)
    if (first === '[') this.#array()
    else if (first === '"' || first === "'") this.#string(first)
    else while (this.#at < this.#text.length && !/[\s,}\]/]/.test(this.#text[this.#at]!)) this.#at++
    return { start, end: this.#at }
  }

  #object(start: number): Node {
    const members: Member[] = []
    this.#at++
    for (this.#skip(); this.#at < this.#text.length && this.#text[this.#at] !== '}'; this.#skip()) {
      const keyStart = this.#at
      const key = this.#key()
      this.#skip()
      this.#at++
      this.#skip()
      members.push({ key, keyStart, value: this.#value() })
      this.#skip()
      if (this.#text[this.#at] === ',') this.#at++
    }
    this.#at++
    return { start, end: this.#at, members }
  }

  #array(): void {
    this.#at++
    for (this.#skip(); this.#at < this.#text.length && this.#text[this.#at] !== ']'; this.#skip()) {
      this.#value()
      this.#skip()
      if (this.#text[this.#at] === ',') this.#at++
    }
    this.#at++
  }

  #key(): string {
    const start = this.#at
    const quote = this.#text[start]
    if (quote === '"' || quote === "'") {
      this.#string(quote)
      return this.#text.slice(start + 1, this.#at - 1)
    }
    while (this.#at < this.#text.length && !/[\s:/]/.test(this.#text[this.#at]!)) this.#at++
    return this.#text.slice(start, this.#at)
  }

  #string(quote: string): void {
    for (this.#at++; this.#at < this.#text.length && this.#text[this.#at] !== quote; this.#at++)
      if (this.#text[this.#at] === '\\') this.#at++
    this.#at++
  }

  /** White space and comments. */
  #skip(): void {
    const space = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y
    space.lastIndex = this.#at
    space.test(this.#text)
    this.#at = Math.max(this.#at, space.lastIndex)
  }
}
