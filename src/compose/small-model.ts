// The small model that judges candidates: there if there is a credential, and loaded when it is first asked.
import { mkdirSync } from 'node:fs'
import { findCredential } from '../agent/credentials.ts'
import type { Config } from '../domain/config.ts'
import type { AskStructured } from '../domain/selection.ts'
import type { Environment } from '../store/config-file.ts'
import type { StatePaths } from '../store/paths.ts'

export function smallModelOf(parts: {
  environment: Environment
  config: Config
  paths: StatePaths
  version: string
}): AskStructured | undefined {
  const { environment, config, paths, version } = parts
  const credential = findCredential(environment, config.claude.credential)
  if (!credential) return undefined
  return async (question, signal) => {
    const { makeAskStructured } = await import('../agent/ask-structured.ts')
    mkdirSync(paths.claudeTemporary, { recursive: true, mode: 0o700 })
    const ask = makeAskStructured({
      environment,
      credential,
      models: config.agents.defaults.models,
      temporaryDirectory: paths.claudeTemporary,
      binary: config.claude.binary,
      version,
    })
    return ask(question, signal)
  }
}
