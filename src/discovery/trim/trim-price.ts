// The price of continuing a session, with the price of a trimmed copy beside it. That needs the transcript, so it is read only
// for a session that a person looks at or that was chosen, and only when its cache is cold and it does not run: the page asks
// again with each change of the file.
import type { CodingConfig } from '../../domain/config/coding-settings.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import type { SessionPrice } from '../../domain/selection.ts'
import { pricesOf } from '../model-prices.ts'
import { priceSession } from '../price-table.ts'
import { previewTrim } from './write-trim.ts'

/** Reading more takes longer than a person waits. `cc trim --dry-run` reads files of any size. */
const mostBytes = 128 << 20

export async function priceWithTrim(
  session: DiscoveredSession,
  { trimWhenCold, defaultModel }: Pick<CodingConfig, 'trimWhenCold' | 'defaultModel'>,
  now: number,
): Promise<SessionPrice> {
  // Only Claude's sessions can be trimmed, and only they continue with the model of the configuration.
  if (session.agentKind !== 'claude') return priceSession(session, pricesOf, now)
  const plain = priceSession(session, pricesOf, now, { nextModel: defaultModel })
  const { isRunning, kept, fileSizeBytes } = session
  if (plain.cache === 'warm' || isRunning || kept || fileSizeBytes > mostBytes) return plain
  const trim = await previewTrim(session, trimWhenCold === 'off' ? 'normal' : trimWhenCold)
  return priceSession(session, pricesOf, now, { nextModel: defaultModel, trim })
}
