// Where an agent keeps its notes, and works when nothing else is said.
import type { App } from '../app.ts'

export function workspaceOf({ config, paths }: Pick<App, 'config' | 'paths'>, agentId: string): string {
  const { list, defaults } = config.agents
  const own = list.find((each) => each.id === agentId)?.workspace
  return own ?? defaults.workspace ?? paths.workspace(agentId)
}
