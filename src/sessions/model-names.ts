// Names that people use for models: those in the configuration, and Claude's own short names. `/new haiku summarize this`
// starts a new conversation with such a model.
import type { AgentsConfig } from '../domain/config/agent-settings.ts'

export interface ModelAliasIndex {
  /** Short names in lower case, and their models. */
  byAlias: ReadonlyMap<string, string>
  models: ReadonlySet<string>
}

const provider = 'anthropic'
const claudeNames = ['opus', 'sonnet', 'haiku']

export function buildModelAliasIndex(agents: AgentsConfig): ModelAliasIndex {
  const byAlias = new Map(claudeNames.map((name) => [name, name]))
  const models = new Set<string>()
  for (const [alias, model] of Object.entries(agents.defaults.models)) {
    byAlias.set(alias.toLowerCase(), model)
    models.add(model)
  }
  for (const { model } of [agents.defaults, ...agents.list]) if (model) models.add(model)
  return { byAlias, models }
}

/** The model with this alias or name, or the only one whose name contains the word. */
export function resolveModel(word: string, index: ModelAliasIndex): string | undefined {
  const wanted = word
    .trim()
    .toLowerCase()
    .replace(/^anthropic\//, '')
  if (wanted === '') return undefined
  const alias = index.byAlias.get(wanted)
  if (alias !== undefined) return alias
  const all = [...index.models]
  const exact = all.find((model) => model.toLowerCase() === wanted)
  if (exact !== undefined || wanted.length < 4) return exact
  const similar = all.filter((model) => model.toLowerCase().includes(wanted))
  return similar.length === 1 ? similar[0] : undefined
}

/** Removes the model's name from the text after a reset command. The lines of the rest stay as they are. */
export function takeModelName(text: string, index: ModelAliasIndex): { model?: string; rest: string } {
  const [first = '', second = ''] = text.trim().split(/\s+/)
  const named = first.toLowerCase() === provider ? resolveModel(second, index) : undefined
  const model = named ?? resolveModel(first, index)
  if (model === undefined) return { rest: text }
  const words = named === undefined ? [first] : [first, second]
  let rest = text.trimStart()
  for (const word of words) rest = rest.slice(word.length).trimStart()
  return { model, rest }
}
