// Numbers and times as people read them.

export function ago(at: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000))
  if (seconds < 60) return 'now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

export function usd(amount: number | undefined): string {
  if (amount === undefined) return '–'
  return `$${amount.toFixed(amount > 0 && amount < 0.1 ? 3 : 2)}`
}

export function tokens(count: number | undefined): string {
  if (count === undefined) return '–'
  if (count < 1000) return String(count)
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1e6).toFixed(1)}M`
}

export function minutes(ms: number): string {
  return ms < 60_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`
}

/** The last two parts of a path: enough to know which repository it is. */
export function shortPath(path: string): string {
  return path.split('/').filter(Boolean).slice(-2).join('/') || '/'
}
