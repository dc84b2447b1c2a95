// An event as a WebSocket frame. Hundreds of open pages get the same event, and only the id of the subscription differs: the frame is
// built once, and each connection writes a copy with its id. `ws` would build every frame again.

const head = '{"jsonrpc":"2.0","method":"event","params":{"subscriptionId":"'
/** Ids of subscriptions are UUIDs. */
const idLength = 36

export class EventFrame {
  readonly #bytes: Buffer
  readonly #idAt: number

  /** `json`: the event. */
  constructor({ epoch, seq }: { epoch: string; seq: number }, json: string) {
    const payload = Buffer.from(
      `${head}${' '.repeat(idLength)}","epoch":"${epoch}","seq":${seq},"event":${json}}}`,
    )
    const header = textHeader(payload.length)
    this.#bytes = Buffer.concat([header, payload])
    this.#idAt = header.length + head.length
  }

  copyFor(subscriptionId: string): Buffer {
    const copy = Buffer.from(this.#bytes)
    copy.write(subscriptionId, this.#idAt, idLength, 'latin1')
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
