// Checks a requested label; throws an error that says what is wrong with it.
import { RockpoolError } from '../../domain/errors.ts'
import { parseSessionLabel } from '../../sessions/label.ts'
import type { App } from '../app.ts'

export function checkedLabel({ config }: Pick<App, 'config'>, raw: unknown): string {
  const parsed = parseSessionLabel(raw, config.session)
  if (parsed.ok) return parsed.label
  throw new RockpoolError('input-invalid', `${parsed.error}.`, {
    hint: 'A label is one short line of visible characters that is no key.',
  })
}
