// WhatsApp, with Baileys: a linked device of a phone, paired by a QR code. Baileys confirms each message to the server by
// itself, so every message is written to a journal before that and removed when it is in the inbox.
import {
  Browsers,
  DEFAULT_CONNECTION_CONFIG,
  DisconnectReason,
  makeCacheableSignalKeyStore,
  makeWASocket,
  proto,
} from 'baileys'
import type { BinaryNode, ConnectionState, GroupMetadata, WAMessage, WASocket } from 'baileys'
import type { Address } from '../domain/address.ts'
import type { ChannelAbilities, ChannelHost } from '../domain/channel.ts'
import { backOffMs, pause } from './retry.ts'
import { BoundedMap } from './bounded-map.ts'
import { PlatformChannel, beginReceiving, endReceiving, type Accept, type Receiving } from './base-channel.ts'
import { openWhatsappAuth, silenceLibsignal, silentLogger, type WhatsappAuth } from './whatsapp-library.ts'
import { downloadOver, WhatsappIntake, type MessageConnection } from './whatsapp-intake.ts'
import { WhatsappJournal } from './whatsapp-journal.ts'
import { jidOf, personOfJid } from './whatsapp-messages.ts'
import { describeFailure, statusOf, WhatsappSender } from './whatsapp-send.ts'

interface WhatsappOptions {
  accountId: string
  waWebSocketUrl?: string
  /** Messages that waited longer than this while we were offline are logged, not answered. */
  maxAgeMinutes?: number
}

export class WhatsappChannel extends PlatformChannel {
  readonly abilities: ChannelAbilities = {
    maxTextLength: 4_000,
    edits: true,
    typing: true,
    idempotentSend: true,
    formatting: 'whatsapp',
  }

  #options: WhatsappOptions
  protected readonly sender: WhatsappSender
  protected readonly describe = describeFailure
  #recent = new BoundedMap<WAMessage>(1_000)
  #groups = new BoundedMap<GroupMetadata>(200)
  #connection: { socket: WASocket; closed: Promise<void> } | undefined
  #running: Running | undefined

  constructor(options: WhatsappOptions, host: ChannelHost) {
    super('whatsapp', options.accountId, host)
    this.#options = options
    const source = {
      connection: () => (this.status().state === 'connected' ? this.#connection : undefined),
      received: (id: string) => this.#recent.get(id),
    }
    this.sender = new WhatsappSender(source, host, this.abilities.maxTextLength)
  }

  protected async begin(accept: Accept): Promise<void> {
    silenceLibsignal()
    const name = `whatsapp-${this.accountId}`
    const receiving = await beginReceiving(this.host, { name, among: 'state' }, name)
    const { signal } = receiving.stopping
    const journal = new WhatsappJournal({ store: receiving.store, host: this.host, signal })
    const intake = new WhatsappIntake({
      host: this.host,
      journal,
      recent: this.#recent,
      maxAgeMs: (this.#options.maxAgeMinutes ?? 10) * 60_000,
      accept,
      signal,
    })
    const receiver = { ...receiving, journal, intake }
    this.#running = { ...receiver, connecting: this.#stayConnected(receiver, signal) }
  }

  async stop(): Promise<void> {
    const running = this.#running
    if (!running) return
    this.#running = undefined
    running.stopping.abort()
    await running.connecting
    await endReceiving(running, () => running.intake.finish())
    this.setStatus('stopped')
  }

  protected async showTyping(address: Address): Promise<unknown> {
    return this.#connection?.socket.sendPresenceUpdate('composing', jidOf(address.to))
  }

  async #stayConnected(receiver: Receiver, signal: AbortSignal): Promise<void> {
    const { store } = receiver
    for (let failures = 0; !signal.aborted;) {
      const ended = await this.#connectOnce(openWhatsappAuth(store), receiver, signal)
      if (signal.aborted) return
      if (ended.wasOpen) failures = 0
      const reason = statusOf(ended.error)
      // WhatsApp asks for a new connection right after a pairing, and when a QR code has not been used in time.
      if (reason === DisconnectReason.restartRequired || ended.hadQr) continue
      if (reason === DisconnectReason.loggedOut) {
        this.host.log.warn(
          { event: 'whatsapp-unlinked' },
          'WhatsApp was unlinked on the phone; link it again with a new QR code.',
        )
        await store.clear()
        continue
      }
      if (reason === DisconnectReason.connectionReplaced || reason === DisconnectReason.forbidden)
        return this.#fail(describeFailure(ended.error))
      failures += 1
      this.setStatus('reconnecting', { lastError: describeFailure(ended.error) })
      await pause(this.host.clock, backOffMs(failures), signal)
    }
  }

  /** Resolves when this connection has ended. */
  async #connectOnce(auth: WhatsappAuth, receiver: Receiver, signal: AbortSignal): Promise<Ended> {
    const { journal, intake } = receiver
    const socket = this.#openSocket(auth, journal)
    const ended: Ended = { error: undefined, wasOpen: false, hadQr: false }
    const closed = new Promise<void>((resolve) => {
      socket.ev.on('connection.update', (update) => {
        this.#follow(update, ended, socket)
        if (update.connection === 'open') {
          const connection = this.#messageConnection(socket)
          intake.take(journal.takeLeftovers(connection.own), 'notify', connection)
        }
        if (update.connection === 'close') resolve()
      })
    })
    socket.ws.on('CB:message', (node: BinaryNode) => journal.received(node))
    this.#connection = { socket, closed }
    socket.ev.on('creds.update', () => void auth.saveCreds())
    socket.ev.on('messages.upsert', ({ messages, type }) =>
      intake.take(messages, type, this.#messageConnection(socket)),
    )
    const close = (): void => void socket.end(undefined)
    signal.addEventListener('abort', close, { once: true })
    if (signal.aborted) close()
    await closed
    signal.removeEventListener('abort', close)
    this.#connection = undefined
    return ended
  }

  #openSocket(auth: WhatsappAuth, journal: WhatsappJournal): WASocket {
    const { waWebSocketUrl } = this.#options
    return makeWASocket({
      makeSignalRepository: (...given) =>
        journal.wrap(DEFAULT_CONNECTION_CONFIG.makeSignalRepository(...given)),
      // Baileys' default must not be overwritten by undefined.
      ...(waWebSocketUrl ? { waWebSocketUrl } : {}),
      auth: { creds: auth.state.creds, keys: makeCacheableSignalKeyStore(auth.state.keys, silentLogger) },
      logger: silentLogger,
      browser: Browsers.ubuntu('Rockpool'),
      // Otherwise the phone would stop ringing for its owner.
      markOnlineOnConnect: false,
      syncFullHistory: false,
      // Old messages are not needed; waiting for them would delay the new ones.
      shouldSyncHistoryMessage: ({ syncType }) =>
        Number(syncType) === proto.HistorySync.HistorySyncType.INITIAL_BOOTSTRAP.valueOf(),
      emitOwnEvents: false,
      generateHighQualityLinkPreview: false,
      cachedGroupMetadata: async (jid) => this.#groups.get(jid),
    })
  }

  #follow(update: Partial<ConnectionState>, ended: Ended, socket: WASocket): void {
    if (update.qr) {
      ended.hadQr = true
      this.setStatus('starting', { needs: { kind: 'qr', detail: update.qr } })
    }
    if (update.connection === 'open') {
      ended.wasOpen = true
      ended.hadQr = false
      const id = personOfJid(socket.user?.id ?? '')
      this.setStatus('connected', { identity: { id, name: socket.user?.name ?? id } })
    }
    if (update.connection === 'close') ended.error = update.lastDisconnect?.error
    if (update.isNewLogin) ended.hadQr = false
  }

  #fail(lastError: string): void {
    const detail =
      'Another program uses this WhatsApp link, or WhatsApp has closed it. Run `rockpool channels remove whatsapp`, then add it again.'
    this.setStatus('failed', { lastError, needs: { kind: 'login', detail } })
  }

  #messageConnection(socket: WASocket): MessageConnection {
    const { id: pn = '', lid } = socket.user ?? {}
    return {
      own: { accountId: this.accountId, pn, lid: lid || undefined },
      findNumber: (hidden) => socket.signalRepository.lidMapping.getPNForLID(hidden),
      groupTitle: (jid) => this.#groupTitle(socket, jid),
      download: (message) => downloadOver(socket, message),
    }
  }

  async #groupTitle(socket: WASocket, jid: string): Promise<string | undefined> {
    const known = this.#groups.get(jid)
    if (known) return known.subject
    try {
      const group = await socket.groupMetadata(jid)
      this.#groups.set(jid, group)
      return group.subject
    } catch (error) {
      // The title is only displayed.
      this.host.log.debug(
        { event: 'group-name-failed', error: describeFailure(error) },
        'Could not read the name of a group; the prompt lacks it.',
      )
      return undefined
    }
  }
}

interface Ended {
  error: unknown
  wasOpen: boolean
  hadQr: boolean
}

interface Receiver extends Receiving {
  journal: WhatsappJournal
  intake: WhatsappIntake
}

interface Running extends Receiver {
  connecting: Promise<void>
}
