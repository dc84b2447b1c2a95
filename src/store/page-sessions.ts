// Who has the dashboard open: a hash of each page's cookie and page key, and when they end, in credentials/, so that an
// open page survives a restart of the gateway. They hold under one operator's token and end when it is replaced.
import { join } from 'node:path'
import { readPrivateFile, writePrivateFile } from './disk/private-file.ts'

/**
 * Open dashboard pages: the hash of a page's cookie and page key, with the time when they expire (ms since 1970). Stored so that
 * an open page survives a restart of the gateway. They become invalid when the operator's token is replaced.
 */
export type PageSessions = Map<string, number>

interface Stored {
  /** Hash of the operator's token under which the pages were opened. */
  under: string
  pages: Array<[hash: string, until: number]>
}

export function readPageSessions(stateDir: string, under: string, now: number): PageSessions {
  const text = readPrivateFile(pagesFile(stateDir))
  const stored = text === undefined ? undefined : parse(text)
  if (stored?.under !== under) return new Map()
  return new Map(stored.pages.filter(([, until]) => until > now))
}

export function writePageSessions(stateDir: string, under: string, pages: PageSessions): void {
  writePrivateFile(pagesFile(stateDir), `${JSON.stringify({ under, pages: [...pages] })}\n`)
}

function pagesFile(stateDir: string): string {
  return join(stateDir, 'credentials', 'pages.json')
}

function parse(text: string): Stored | undefined {
  try {
    const value = JSON.parse(text) as Partial<Stored>
    if (typeof value.under === 'string' && Array.isArray(value.pages)) return value as Stored
  } catch {
    // A damaged file has no pages: people log in again.
  }
  return undefined
}
