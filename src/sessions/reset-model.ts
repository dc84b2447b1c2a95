// `/new haiku summarize this`: the first word after a reset may name a model. It counts only if it is a model that the
// configuration knows, or one of Claude's own short names.
import type { AgentsConfig } from '../domain/config/agent-settings.ts'
import type { TemplateContext } from '../domain/msg-context.ts'
import type { SessionEntry } from '../domain/session.ts'

export interface ModelAliasIndex {
  /** Short names, in small letters, and the models they stand for. */
  byAlias: ReadonlyMap<string, string>
  models: ReadonlySet<string>
}

export interface ResetModelResult {
  model?: string
  /** The text without the model's name. */
  cleanedBody: string | undefined
  sessionEntry?: SessionEntry
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

/** The model that a word means: an alias, a model's name, or a part of exactly one model's name. */
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

/** Takes the model off the text after a reset and gives the entry with its override. */
export function applyResetModelOverride(params: {
  resetTriggered: boolean
  bodyStripped?: string
  sessionCtx?: TemplateContext
  sessionEntry?: SessionEntry
  aliasIndex: ModelAliasIndex
}): ResetModelResult {
  const { resetTriggered, bodyStripped, sessionEntry, sessionCtx, aliasIndex } = params
  const unchanged = { cleanedBody: bodyStripped, ...(sessionEntry ? { sessionEntry } : {}) }
  if (!resetTriggered || !bodyStripped?.trim()) return unchanged
  const [first = '', second = '', ...others] = bodyStripped
    .trim()
    .split(/(\s+)/)
    .filter((part) => part.trim() !== '')
  const named = first.toLowerCase() === provider ? resolveModel(second, aliasIndex) : undefined
  const model = named ?? resolveModel(first, aliasIndex)
  if (model === undefined) return unchanged
  const taken = named === undefined ? 1 : 2
  const cleanedBody = withoutWords(bodyStripped, taken, [first, second, ...others])
  if (sessionCtx) sessionCtx.BodyStripped = cleanedBody
  return {
    model,
    cleanedBody,
    ...(sessionEntry
      ? { sessionEntry: { ...sessionEntry, modelOverride: model, providerOverride: provider } }
      : {}),
  }
}

/** Keeps the lines of the rest as they are. */
function withoutWords(text: string, count: number, words: string[]): string {
  let rest = text.trimStart()
  for (const word of words.slice(0, count)) rest = rest.slice(word.length).trimStart()
  return rest
}
