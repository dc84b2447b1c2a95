// A private home for the real Claude binary: nothing of the person who runs the tests is read or written, and the only
// address it may talk to is the scripted Messages API.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ClaudeHome {
  root: string
  home: string
  /** CLAUDE_CONFIG_DIR. */
  configDir: string
  tmp: string
  /** A state directory for Rockpool; the variables point at it. */
  stateDir: string
  /** An empty directory to work in. */
  project: string
  /** What a Rockpool under test finds in its environment: pass it to readEnvironment(), or to a child process. */
  variables: Record<string, string>
  remove(): void
}

/** Priced exactly by the binary, so that costs in tests are list prices. */
export const testModel = 'claude-sonnet-4-5-20250929'

/** The binary that the Agent SDK installs, or undefined where there is none for this platform. */
export const claudeBinary: string = realpathOrMissing(
  join(import.meta.dirname, `../../node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude`),
)

/** `home`: a directory that does not exist yet, for pictures whose paths read like anybody's. */
export function makeClaudeHome(options: { apiUrl: string; name?: string; home?: string }): ClaudeHome {
  const root =
    options.home ?? realpathSync(mkdtempSync(join(tmpdir(), `rockpool-${options.name ?? 'home'}-`)))
  if (options.home !== undefined) mkdirSync(options.home)
  const folder = (name: string): string => {
    const path = join(root, name)
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return path
  }
  const home = options.home ?? folder('home')
  const configDir = folder(options.home === undefined ? 'home/.claude' : '.claude')
  const tmp = folder('tmp')
  const stateDir = folder(options.home === undefined ? 'state' : '.rockpool')
  const project = folder('project')
  answerFirstQuestions(configDir, project)
  return {
    root,
    home,
    configDir,
    tmp,
    stateDir,
    project,
    variables: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      LANG: 'C.UTF-8',
      SHELL: '/bin/bash',
      TMPDIR: tmp,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? tmp,
      CLAUDE_CONFIG_DIR: configDir,
      ROCKPOOL_STATE_DIR: stateDir,
      ANTHROPIC_BASE_URL: options.apiUrl,
      ANTHROPIC_API_KEY: 'test-key',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_ERROR_REPORTING: '1',
    },
    // A process that ends may still write for a moment.
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  }
}

/** The questions of the first start in a terminal. Before any process of Claude starts: each writes this file again as a whole, as it
 *  was when that process read it. */
function answerFirstQuestions(configDir: string, project: string): void {
  const known = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: ['test-key'], rejected: [] },
    projects: { [project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  }
  writeFileSync(join(configDir, '.claude.json'), JSON.stringify(known))
}

function realpathOrMissing(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
