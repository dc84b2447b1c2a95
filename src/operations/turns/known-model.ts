// Checks the name of a model when it is set. Otherwise the next turn would refuse it, perhaps days later.
import { RockpoolError } from '../../domain/errors.ts'
import { buildModelAliasIndex, resolveModel } from '../../sessions/model-names.ts'
import type { App } from '../app.ts'

/** The model of an alias or a name. A model of another provider is accepted: sessions of OpenClaw have such. */
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

/** The model for a turn, as Claude names it: only Claude takes turns here. */
export function modelForTurn(app: Pick<App, 'config'>, given: string): string {
  if (given.startsWith('arn:')) return given
  const model = knownModel(app, given)
  const [, provider = 'anthropic', name = model] = /^([^/]+)\/(.+)$/.exec(model) ?? []
  if (provider === 'anthropic') return name
  const shown = JSON.stringify(given.slice(0, 80))
  throw new RockpoolError('input-invalid', `${shown} is not a model of Claude.`, {
    hint: 'Only Claude takes turns: name one of its models, such as sonnet.',
  })
}

/** Is this a name that Claude Code knows? Its short names may end with the size of the context window: `sonnet[1m]`. */
function isClaudes(name: string): boolean {
  return /claude/i.test(name) || /^(?:opus|sonnet|haiku|opusplan|default)(?:\[1m\])?$/i.test(name)
}
