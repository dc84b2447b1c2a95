// The interactive Claude Code in a real terminal, with Rockpool's plugin, against the scripted API.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { claudeBinary, testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { inline } from './messages-api.ts'
import type { Step } from './messages-api.ts'
import { openTerminal } from './terminal.ts'
import type { PseudoTerminal } from './terminal.ts'

export const pluginFolder = join(import.meta.dirname, '../../plugins/claude-code/dist')

export interface ClaudeTerminal extends PseudoTerminal {
  /** Gives a prompt whose answer is scripted. */
  prompt(text: string, ...steps: Step[]): Promise<void>
  /** Until the screen shows this. */
  shows(text: string | RegExp): Promise<void>
  /** Answers the permission dialog. */
  choose(key: string): Promise<void>
}

const dialog = 'Do you want to proceed'

const patience = { timeout: 60_000, interval: 50 }

/** Puts the plugin where every session of this home loads it, as `rockpool claude-plugin install` does. */
export function putPlugin(home: ClaudeHome): void {
  cpSync(pluginFolder, join(home.configDir, 'skills', 'rockpool'), { recursive: true })
}

/** Ready for a prompt. */
export async function openClaudeTerminal(
  home: ClaudeHome,
  args = '',
  binary = claudeBinary,
): Promise<ClaudeTerminal> {
  const line = `cd ${home.project} && ${binary} --model ${testModel} ${args}`
  const terminal = openTerminal(line, { env: home.variables, columns: 110, rows: 50 })
  const shows = (text: string | RegExp): Promise<void> =>
    vi.waitFor(() => expect(terminal.screen()).toMatch(text), patience)
  // Our status line, if the settings have it, is shown instead.
  await shows(/for shortcuts|\$\d+\.\d\d today/)
  return {
    ...terminal,
    shows,
    async choose(key) {
      await shows(dialog)
      // A dialog ignores keys for a moment after it has opened, so that no key is taken for an answer.
      await vi.waitFor(
        () => {
          if (terminal.screen().includes(dialog)) terminal.press(key)
          expect(terminal.screen()).not.toContain(dialog)
        },
        { ...patience, interval: 400 },
      )
    },
    async prompt(text, ...steps) {
      terminal.type(steps.length > 0 ? `${text} ${inline(...steps)}` : text)
      await shows(text.slice(0, 40))
      terminal.press('Enter')
    },
  }
}
