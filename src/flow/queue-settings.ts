// What happens to messages while a turn runs: the settings, where they come from, and the texts that tell the agent.
import type { MessagesConfig } from '../domain/config/session-settings.ts'
import { QUEUED_MESSAGES_MARKER } from '../inbound/normalize.ts'
import type { QueueDrop, QueueMode, SessionEntry } from '../domain/session.ts'

export interface QueueSettings {
  mode: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog'
  debounceMs: number
  cap: number
  drop: QueueDrop
}

type Wish = { mode?: QueueMode; debounceMs?: number; cap?: number; drop?: QueueDrop }

const defaults: QueueSettings = { mode: 'steer', debounceMs: 500, cap: 20, drop: 'summarize' }

/** Inline over session over channel over general. */
export function resolveQueueSettings(params: {
  config: MessagesConfig['queue']
  channel?: string
  entry?: Partial<SessionEntry>
  inline?: Wish
}): QueueSettings {
  const { config, channel, entry, inline = {} } = params
  const byChannel =
    channel !== undefined && Object.hasOwn(config.byChannel, channel) ? config.byChannel[channel]! : {}
  const first = <K extends keyof Wish>(key: K, ofSession: Wish[K]): Wish[K] | undefined =>
    inline[key] ?? ofSession ?? byChannel[key] ?? config[key]
  return {
    mode: canonicalMode(first('mode', entry?.queueMode)),
    debounceMs: first('debounceMs', entry?.queueDebounceMs) ?? defaults.debounceMs,
    cap: first('cap', entry?.queueCap) ?? defaults.cap,
    drop: first('drop', entry?.queueDrop) ?? defaults.drop,
  }
}

/** Older names: `queue` is followup, `steer+backlog` is steer-backlog. */
function canonicalMode(mode: QueueMode | undefined): QueueSettings['mode'] {
  if (mode === 'queue') return 'followup'
  return mode === 'steer+backlog' ? 'steer-backlog' : (mode ?? defaults.mode)
}

export type QueueCommand =
  | { kind: 'show' }
  | { kind: 'reset' }
  | { kind: 'set'; wish: Wish }
  | { kind: 'wrong'; word: string }

/** `collect debounce:0.5s cap:25 drop:summarize`, `default`, `reset`, or nothing. */
export function parseQueueCommand(rest: string): QueueCommand {
  const words = rest.split(/\s+/).filter((word) => word !== '')
  if (words.length === 0) return { kind: 'show' }
  if (words.length === 1 && /^(reset|default|inherit)$/i.test(words[0]!)) return { kind: 'reset' }
  const wish: Wish = {}
  for (const word of words) {
    const [name = '', value = ''] = word.toLowerCase().split(/[:=]/, 2)
    const duration = value === '' ? undefined : parseDuration(value)
    if (value === '' && isMode(name)) wish.mode = name
    else if (name === 'debounce' && duration !== undefined) wish.debounceMs = duration
    else if (name === 'cap' && /^[1-9]\d{0,3}$/.test(value)) wish.cap = Number(value)
    else if (name === 'drop' && (value === 'old' || value === 'new' || value === 'summarize'))
      wish.drop = value
    else return { kind: 'wrong', word }
  }
  return { kind: 'set', wish }
}

function isMode(word: string): word is QueueMode {
  return ['steer', 'followup', 'collect', 'interrupt', 'steer-backlog', 'steer+backlog', 'queue'].includes(
    word,
  )
}

/** `500ms`, `0.5s`, `2m`, `1h`, or a bare number of milliseconds. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)?$/i.exec(text.trim())
  if (!match) return undefined
  const unit = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match[2]?.toLowerCase() ?? 'ms']!
  return Math.round(Number(match[1]) * unit)
}

/** Several messages that waited, as one prompt. */
export function collectPrompt(texts: readonly string[], dropped: readonly string[] = []): string {
  const overflow = overflowText(dropped)
  if (texts.length === 1 && overflow === undefined) return texts[0]!
  const queued = texts.map((text, index) => `---\nQueued #${index + 1}\n${text}`)
  return [QUEUED_MESSAGES_MARKER, ...(overflow ? [overflow] : []), ...queued].join('\n\n')
}

/** What the agent is told about messages for which there was no room. */
export function overflowText(dropped: readonly string[]): string | undefined {
  if (dropped.length === 0) return undefined
  const heading = `[Queue overflow] Dropped ${dropped.length} message${dropped.length === 1 ? '' : 's'} due to cap.`
  return [heading, 'Summary:', ...dropped.map((text) => `- ${elide(text)}`)].join('\n')
}

function elide(text: string): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length <= 140 ? flat : `${flat.slice(0, 139).trimEnd().toWellFormed()}…`
}
