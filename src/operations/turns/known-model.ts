// Which model is meant, checked when it is asked for: a name that no model has would otherwise be refused by the next
// turn, when nobody thinks of it any more.
import { RockpoolError } from '../../domain/errors.ts'
import { buildModelAliasIndex, resolveModel } from '../../sessions/model-names.ts'
import type { App } from '../app.ts'

/** An alias as the model it means. A model of another provider is taken as it stands: sessions of OpenClaw have such. */
export function knownModel({ config }: Pick<App, 'config'>, given: string): string {
  const index = buildModelAliasIndex(config.agents)
  const [, provider, name = given] = /^([^/]+)\/(.+)$/.exec(given) ?? []
  if (provider !== undefined && provider !== 'anthropic') return given
  const model = resolveModel(name, index) ?? (isClaudes(name) ? name : undefined)
  if (model !== undefined) return provider === undefined ? model : `${provider}/${model}`
  const known = [...new Set([...index.byAlias.keys(), ...index.models])].join(', ')
  throw new RockpoolError('input-invalid', `There is no model ${JSON.stringify(given.slice(0, 80))}.`, {
    hint: `Known: ${known}, and every name with claude in it. Others are named in agents.defaults.models.`,
  })
}

/** The model for a turn, as Claude is told it: only Claude takes turns here. */
export function modelForTurn(app: Pick<App, 'config'>, given: string): string {
  if (given.startsWith('arn:')) return given
  const model = knownModel(app, given)
  const [, provider = 'anthropic', name = model] = /^([^/]+)\/(.+)$/.exec(model) ?? []
  if (provider === 'anthropic') return name
  throw new RockpoolError(
    'input-invalid',
    `${JSON.stringify(given.slice(0, 80))} is not a model of Claude.`,
    {
      hint: 'Turns are taken by Claude: name one of its models, such as sonnet.',
    },
  )
}

/** Claude's own short names may say how much it reads at once: `sonnet[1m]`. */
function isClaudes(name: string): boolean {
  return /claude/i.test(name) || /^(?:opus|sonnet|haiku|opusplan|default)(?:\[1m\])?$/i.test(name)
}
