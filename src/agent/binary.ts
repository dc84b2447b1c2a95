// Where the Claude Code binary is that comes with the Agent SDK.
import { createRequire } from 'node:module'

/** Undefined where the SDK has none for this platform; then the user's own `claude` must be on the PATH. */
export function bundledClaude(): string | undefined {
  const require = createRequire(import.meta.url)
  const platform = `${process.platform}-${process.arch}`
  for (const name of [platform, `${platform}-musl`]) {
    try {
      return require.resolve(`@anthropic-ai/claude-agent-sdk-${name}/claude`)
    } catch {
      // Not installed for this platform; the next name may be.
    }
  }
  return undefined
}
