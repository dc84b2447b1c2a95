// Builds plugins/claude-code/dist, the plugin that `rockpool claude-plugin install` copies into Claude's directories: the files as
// they are, the version, and the server in one file.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rolldown } from 'rolldown'
import { listedTools } from '../src/operations/claude-plugin/session-tools.ts'

const folder = 'plugins/claude-code'

export async function buildClaudePlugin(): Promise<void> {
  rmSync(`${folder}/dist`, { recursive: true, force: true })
  cpSync(`${folder}/files`, `${folder}/dist`, { recursive: true })
  const manifest = `${folder}/dist/.claude-plugin/plugin.json`
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const plugin = JSON.parse(readFileSync(manifest, 'utf8')) as object
  writeFileSync(manifest, `${JSON.stringify({ ...plugin, version }, null, 2)}\n`)
  writeFileSync(`${folder}/dist/tools.json`, `${JSON.stringify(listedTools())}\n`)
  const server = await rolldown({
    input: `${folder}/src/server.ts`,
    platform: 'node',
    external: /^node:/,
    treeshake: { moduleSideEffects: false },
  })
  await server.write({ file: `${folder}/dist/server.mjs`, format: 'esm', codeSplitting: false })
}
