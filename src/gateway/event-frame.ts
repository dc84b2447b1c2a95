// Events as WebSocket frames. Hundreds of open pages get the same events, and only the ids of their subscriptions differ: the frames
// are built once, and each connection writes a copy with its ids. `ws` would build every frame again for every connection. All
// connections also share the frame of a ping.

/** An event as it is sent; `json` is the event itself. */
export interface EventText {
  epoch: string
  seq: number
  json: string
}

/** A ping without content from a server (RFC 6455, 5.5.2). */
export const pingFrame = Buffer.from([0x89, 0])

const head = '{"jsonrpc":"2.0","method":"event","params":{"subscriptionId":"'
/** Ids of subscriptions are UUIDs. */
const idLength = 36

/** Frames that are sent in one write. */
export class EventFrames {
  readonly #bytes: Buffer
  /** Where an id is missing, and the index of the subscription whose id it is. */
  readonly #gaps: Array<{ at: number; subscription: number }> = []

  constructor(frames: ReadonlyArray<{ text: EventText; subscription: number }>) {
    const parts: Buffer[] = []
    let at = 0
    for (const { text, subscription } of frames) {
      const { epoch, seq, json } = text
      const payload = Buffer.from(
        `${head}${' '.repeat(idLength)}","epoch":"${epoch}","seq":${seq},"event":${json}}}`,
      )
      const header = textHeader(payload.length)
      this.#gaps.push({ at: at + header.length + head.length, subscription })
      parts.push(header, payload)
      at += header.length + payload.length
    }
    this.#bytes = Buffer.concat(parts, at)
  }

  /** `ids`: the ids of the connection's subscriptions, by index. */
  copyFor(ids: readonly string[]): Buffer {
    const copy = Buffer.from(this.#bytes)
    for (const { at, subscription } of this.#gaps) copy.write(ids[subscription]!, at, idLength, 'latin1')
    return copy
  }
}

/** The header of a whole text frame from a server (RFC 6455, 5.2). */
function textHeader(length: number): Buffer {
  const finalText = 0x81
  if (length < 126) return Buffer.from([finalText, length])
  const isLong = length > 0xffff
  const header = Buffer.alloc(isLong ? 10 : 4)
  header.writeUInt16BE((finalText << 8) | (isLong ? 127 : 126))
  if (isLong) header.writeBigUInt64BE(BigInt(length), 2)
  else header.writeUInt16BE(length, 2)
  return header
}
