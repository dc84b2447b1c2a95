// The price of continuing a session, with the price of a trimmed copy beside it. That needs the transcript, so it is read only
// for a session that a person looks at or that was chosen, and only when its cache is cold.
import type { CodingConfig } from '../../domain/config/coding-settings.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import type { SessionPrice } from '../../domain/selection.ts'
import { priceSession, pricesOf } from '../price-table.ts'
import { previewTrim } from './write-trim.ts'

/** Reading more takes longer than a person waits. `cc trim --dry-run` reads files of any size. */
const mostBytes = 128 << 20

export async function priceWithTrim(
  session: DiscoveredSession,
  { trimWhenCold, defaultModel }: Pick<CodingConfig, 'trimWhenCold' | 'defaultModel'>,
  now: number,
): Promise<SessionPrice> {
  const plain = priceSession(session, pricesOf, now, { nextModel: defaultModel })
  if (plain.cache === 'warm' || session.kept || session.fileSizeBytes > mostBytes) return plain
  const trim = await previewTrim(session, trimWhenCold === 'off' ? 'normal' : trimWhenCold)
  return priceSession(session, pricesOf, now, { nextModel: defaultModel, trim })
}
