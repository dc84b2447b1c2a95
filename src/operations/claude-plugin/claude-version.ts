// Which Claude Code people start on this machine, and what of the plugin works in it.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { attempt } from '../../domain/errors.ts'
import type { App } from '../app.ts'

const execute = promisify(execFile)

/** The oldest version with every hook of the plugin, and the version with which everything was tried last. */
const oldest = '2.1.200'
const tried = '2.1.325'

export async function claudeVersion({
  environment,
  config,
}: Pick<App, 'environment' | 'config'>): Promise<{ version?: string; missing: string[] }> {
  const program = config.claude.binary || 'claude'
  const { PATH, HOME } = environment.variables
  const asked = execute(program, ['--version'], { env: { PATH, HOME }, timeout: 5_000 })
  const text = await asked.then(({ stdout }) => stdout).catch(() => '')
  const version = attempt(() => /\d+\.\d+\.\d+/.exec(text)?.[0])
  return { version, missing: version === undefined ? [noClaude] : missingIn(version) }
}

const noClaude = 'There is no `claude` on the PATH; the plugin waits for it.'

export function missingIn(version: string): string[] {
  if (isOlder(version, oldest))
    return [`Claude Code ${version} is older than ${oldest} and may not load the plugin. Update Claude Code.`]
  if (isOlder(version, tried))
    return [
      `Claude Code ${version} may not report what resuming a session costs (${tried} does); everything else works.`,
    ]
  return []
}

function isOlder(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => text.split('.').map(Number)) as [number[], number[]]
  const at = one.findIndex((number, i) => number !== other[i])
  return at >= 0 && one[at]! < (other[at] ?? 0)
}
