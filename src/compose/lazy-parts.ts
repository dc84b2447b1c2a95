// The code that is loaded only when an operation needs it: listing a few sessions needs none of it, listing those of the
// whole machine not what runs them.
import { RockpoolError } from '../domain/errors.ts'
import type { HeavyPart } from '../operations/app.ts'

const loads = {
  discovery: () => import('./discovery.ts'),
  search: () => import('./open-search.ts'),
  coding: () => import('./selection-stores.ts'),
}

type Code = { [Part in HeavyPart]?: Awaited<ReturnType<(typeof loads)[Part]>> }

export class HeavyCode {
  #code: Code = {}

  async load(needs: readonly HeavyPart[] = ['discovery', 'search', 'coding']): Promise<void> {
    const missing = needs.filter((part) => !this.#code[part])
    const loaded = await Promise.all(missing.map(async (part) => [part, await loads[part]()] as const))
    this.#code = { ...this.#code, ...Object.fromEntries(loaded) }
  }

  of<Part extends HeavyPart>(part: Part): NonNullable<Code[Part]> {
    const code = this.#code[part]
    if (code) return code
    throw new RockpoolError(
      'internal',
      `The code of ${part} was asked for before it was loaded; \`prepare\` was not awaited.`,
    )
  }
}
