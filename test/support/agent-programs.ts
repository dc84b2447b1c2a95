// The real programs of other coding agents, from npm: installed at the first use, and kept for the next run, because they are large
// (Codex has 436 MB). Also the settings that point each of them at an API on loopback.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OtherAgent } from '../../src/domain/agent.ts'

const packages: Record<OtherAgent, { name: string; version: string; file: string }> = {
  codex: { name: '@openai/codex', version: '0.166.0', file: 'node_modules/.bin/codex' },
  gemini: { name: '@google/gemini-cli', version: '0.61.0', file: 'node_modules/.bin/gemini' },
  // The command of its package is made by a script at its installation; the program itself is beside it.
  opencode: { name: 'opencode-ai', version: '1.18.33', file: 'node_modules/opencode-linux-x64/bin/opencode' },
  // pi cannot be installed where one of its optional packages is missing, but its tarball is complete.
  pi: { name: '@earendil-works/pi-coding-agent', version: '1.5.0', file: 'package/dist/bundle/cli.js' },
}

/** A file that can be run, or why it cannot be had. */
export function installed(kind: OtherAgent): { file: string; missing?: string } {
  const { name, version, file } = packages[kind]
  const folder = join(tmpdir(), 'rockpool-test-agents', `${name.replaceAll(/\W+/g, '-')}-${version}`)
  const path = join(folder, file)
  try {
    if (!existsSync(path)) install(kind, folder)
    return { file: kind === 'pi' ? piCommand(folder, path) : path }
  } catch (error) {
    return { file: path, missing: `${name} cannot be installed: ${String(error).split('\n')[0]}` }
  }
}

function install(kind: OtherAgent, folder: string): void {
  const { name, version } = packages[kind]
  mkdirSync(folder, { recursive: true })
  if (kind !== 'pi') {
    const options = ['--prefix', folder, '--no-audit', '--no-fund', '--no-save']
    execFileSync('npm', ['install', ...options, `${name}@${version}`], { stdio: 'pipe' })
    return
  }
  const packed = execFileSync('npm', ['pack', `${name}@${version}`, '--json'], { cwd: folder, stdio: 'pipe' })
  const [tarball] = JSON.parse(packed.toString()) as Array<{ filename: string }>
  execFileSync('tar', ['xzf', tarball!.filename], { cwd: folder })
}

/** pi needs a newer Node than the one on the PATH, which its first line starts. */
function piCommand(folder: string, path: string): string {
  const command = join(folder, 'pi')
  writeFileSync(command, `#!/bin/sh\nexec ${process.execPath} ${path} "$@"\n`)
  chmodSync(command, 0o755)
  return command
}

export function codexConfig(url: string): string {
  return `model = "gpt-5.5"
model_provider = "test"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
daemon_auto_start = false
plugins = false
apps = false
[model_providers.test]
name = "test"
base_url = "${url}"
wire_api = "responses"
env_key = "TEST_KEY"
request_max_retries = 0
stream_max_retries = 0
`
}
