// When a resume continues in a trimmed copy: because the caller asks for it, or by itself where the owner switched that on.
import { z } from 'zod'
import { priceWithTrim } from '../../discovery/trim/trim-price.ts'
import { trimLevels, type TrimLevel } from '../../domain/trim.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'

export const trimField = z
  .enum(trimLevels)
  .optional()
  .describe('Continue in a copy without old tool results: light, normal (without a value) or hard.')

/** With `coding.trimWhenCold`: the configured level, if the cache is cold and the copy saves enough. */
export async function trimByItself(app: App, ref: string): Promise<TrimLevel | undefined> {
  const { trimWhenCold } = app.config.coding
  if (trimWhenCold === 'off') return undefined
  const session = await app.coding().pool.findNative(ref)
  const [known] = session ? await app.discovery().known([session.sessionId]) : []
  if (!known) return undefined
  const price = await priceWithTrim(known, app.config.coding, app.clock.now())
  return price.trimmed?.offered ? trimWhenCold : undefined
}

/** A trimmed copy continues at the end of the conversation. */
export function refuseTrimAt({ trim, atMessage }: { trim?: string; atMessage?: string }): void {
  if (trim === undefined || atMessage === undefined) return
  throw new RockpoolError('input-invalid', 'trim and atMessage cannot be combined.', {
    hint: 'Fork after the message first, then trim the fork.',
  })
}
