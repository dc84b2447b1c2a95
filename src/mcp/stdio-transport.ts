// MCP over stdin and stdout: one JSON-RPC message on each line. The transport of the library closes at the first line that does not fit in
// its buffer, and does not notice that the client has closed its end. This one refuses such a line and reads the next one.
import type { Readable, Writable } from 'node:stream'
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

const mebibyte = 1024 * 1024
const maxLineBytes = 10 * mebibyte
const lineEnd = 0x0a

export class StdioTransport implements Transport {
  onmessage?: Transport['onmessage']
  onerror?: Transport['onerror']
  onclose?: Transport['onclose']
  #input: Readable
  #output: Writable
  #line = new LineBuffer()
  /** Set while the rest of a line that is too long is skipped. */
  #outline: Outline | undefined

  constructor(input: Readable = process.stdin, output: Writable = process.stdout) {
    this.#input = input
    this.#output = output
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#receive)
    this.#input.on('error', this.#fail)
    this.#input.once('end', this.#end)
  }

  async close(): Promise<void> {
    this.#input.off('data', this.#receive)
    this.#input.off('error', this.#fail)
    this.#input.off('end', this.#end)
    this.#input.pause()
    this.onclose?.()
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.#write(serializeMessage(message))
  }

  #receive = (chunk: Buffer): void => {
    let from = 0
    for (let end = chunk.indexOf(lineEnd); end >= 0; end = chunk.indexOf(lineEnd, from)) {
      this.#add(chunk.subarray(from, end))
      this.#endLine()
      from = end + 1
    }
    this.#add(chunk.subarray(from))
  }

  #fail = (error: Error): void => this.onerror?.(error)

  #end = (): void => void this.close()

  #add(part: Buffer): void {
    if (!this.#outline && this.#line.bytes + part.length > maxLineBytes) {
      this.#outline = new Outline()
      this.#outline.add(this.#line.take())
    }
    if (this.#outline) this.#outline.add(part)
    else this.#line.add(part)
  }

  #endLine(): void {
    const outline = this.#outline
    this.#outline = undefined
    if (outline) return void this.#refuse(outline)
    try {
      this.onmessage?.(deserializeMessage(this.#line.take().toString('utf8')))
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** A notification gets no answer. */
  async #refuse(outline: Outline): Promise<void> {
    const id = outline.id()
    if (id === undefined) return
    const message = `The request is larger than ${maxLineBytes / mebibyte} MB and was not read. Send less at once.`
    const error = { code: ErrorCode.InvalidRequest, message }
    await this.#write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`)
  }

  async #write(line: string): Promise<void> {
    if (!this.#output.write(line)) await new Promise((resolve) => this.#output.once('drain', resolve))
  }
}

const smallLineBytes = 64 * 1024

/** The line that is being read, in one buffer: many small parts take no more memory than a large one. */
class LineBuffer {
  bytes = 0
  #buffer = Buffer.alloc(0)

  add(part: Buffer): void {
    const needed = this.bytes + part.length
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length, smallLineBytes))
      this.#buffer.copy(larger, 0, 0, this.bytes)
      this.#buffer = larger
    }
    part.copy(this.#buffer, this.bytes)
    this.bytes = needed
  }

  /** The bytes, which are valid until the next part is added. */
  take(): Buffer {
    const line = this.#buffer.subarray(0, this.bytes)
    this.bytes = 0
    if (this.#buffer.length > smallLineBytes) this.#buffer = Buffer.alloc(0)
    return line
  }
}

const quote = 0x22
const backslash = 0x5c
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]
const maxOutlineBytes = 4_096

/** The fields of a message without the objects and lists in them: enough to read its id, wherever it is, without keeping the message. */
class Outline {
  #kept: number[] = []
  #depth = 0
  #isString = false
  #isEscaped = false

  add(part: Buffer): void {
    for (let i = 0; i < part.length; i++) this.#read(part[i]!)
  }

  /** Null if it cannot be known, as JSON-RPC wants it; undefined for a notification, which has none. */
  id(): string | number | null | undefined {
    if (this.#kept.length > maxOutlineBytes) return null
    try {
      const fields = JSON.parse(Buffer.from(this.#kept).toString('utf8')) as {
        id?: unknown
        method?: unknown
      }
      const { id, method } = fields
      if (typeof id === 'string' || typeof id === 'number') return id
      return id === undefined && typeof method === 'string' ? undefined : null
    } catch {
      // It is no JSON; the sender learns at least that it was not read.
      return null
    }
  }

  #read(byte: number): void {
    if (this.#isString) this.#readInString(byte)
    else if (byte === quote) this.#isString = true
    else if (byte === openBrace || byte === openBracket) {
      this.#depth++
      if (this.#depth === 2) for (const letter of Buffer.from('null')) this.#keep(letter)
    } else if (byte === closeBrace || byte === closeBracket) {
      this.#depth--
      if (this.#depth === 1) return
    }
    if (this.#depth <= 1) this.#keep(byte)
  }

  #readInString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === backslash) this.#isEscaped = true
    else if (byte === quote) this.#isString = false
  }

  #keep(byte: number): void {
    if (this.#kept.length <= maxOutlineBytes) this.#kept.push(byte)
  }
}
