// Settings for messages that arrive while a turn runs, and the /queue command that changes them.
import type { MessagesConfig } from '../domain/config/session-settings.ts'
import type { QueueDrop, QueueMode, SessionEntry } from '../domain/session.ts'

export interface QueueSettings {
  mode: 'steer' | 'followup' | 'collect' | 'interrupt' | 'steer-backlog'
  debounceMs: number
  cap: number
  drop: QueueDrop
}

type QueueChange = { mode?: QueueMode; debounceMs?: number; cap?: number; drop?: QueueDrop }

const defaults: QueueSettings = { mode: 'steer', debounceMs: 500, cap: 20, drop: 'summarize' }

/** The session's settings win over the channel's, the channel's over the general ones. */
export function resolveQueueSettings(params: {
  config: MessagesConfig['queue']
  channel?: string
  entry?: Partial<SessionEntry>
}): QueueSettings {
  const { config, channel, entry } = params
  const byChannel =
    channel !== undefined && Object.hasOwn(config.byChannel, channel) ? config.byChannel[channel]! : {}
  return {
    mode: canonicalMode(entry?.queueMode ?? byChannel.mode ?? config.mode),
    debounceMs: entry?.queueDebounceMs ?? byChannel.debounceMs ?? config.debounceMs ?? defaults.debounceMs,
    cap: entry?.queueCap ?? byChannel.cap ?? config.cap ?? defaults.cap,
    drop: entry?.queueDrop ?? byChannel.drop ?? config.drop ?? defaults.drop,
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
  | { kind: 'set'; change: QueueChange }
  | { kind: 'wrong'; word: string }

/** `collect debounce:0.5s cap:25 drop:summarize`, `default`, `reset`, or nothing. */
export function parseQueueCommand(rest: string): QueueCommand {
  const words = rest.split(/\s+/).filter((word) => word !== '')
  if (words.length === 0) return { kind: 'show' }
  if (words.length === 1 && /^(reset|default|inherit)$/i.test(words[0]!)) return { kind: 'reset' }
  const change: QueueChange = {}
  for (const word of words) {
    const [name = '', value = ''] = word.toLowerCase().split(/[:=]/, 2)
    const duration = value === '' ? undefined : parseDuration(value)
    if (value === '' && isMode(name)) change.mode = name
    else if (name === 'debounce' && duration !== undefined) change.debounceMs = duration
    else if (name === 'cap' && /^[1-9]\d{0,3}$/.test(value)) change.cap = Number(value)
    else if (name === 'drop' && (value === 'old' || value === 'new' || value === 'summarize'))
      change.drop = value
    else return { kind: 'wrong', word }
  }
  return { kind: 'set', change }
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
