// A real terminal for tests: a program in a pseudo terminal of tmux, the keys that a person would press, and the screen that
// a person would see.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface PseudoTerminal {
  /** Keys in tmux's words: `Enter`, `Down`, `Escape`, `C-c`, or one character. */
  press(...keys: string[]): void
  type(text: string): void
  screen(): string
  /** The same with its colours, as escape sequences. */
  painted(): string
  resize(columns: number, rows: number): void
  close(): void
}

/** Why there is none on this machine, if so. */
export const noTerminal =
  spawnSync('tmux', ['-V']).status === 0
    ? undefined
    : 'tmux is not installed: there is no terminal to try it in'

/** Runs a command line; when it ends, the screen says `left 0`. */
export function openTerminal(
  line: string,
  options: { env: Record<string, string>; columns: number; rows: number },
): PseudoTerminal {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-terminal-'))
  // Nothing of the person who runs the tests: neither tmux nor its settings.
  const tmux = (...args: string[]): string =>
    execFileSync('tmux', ['-S', join(folder, 'tmux'), '-f', '/dev/null', ...args], {
      env: { ...options.env, LC_ALL: 'C.UTF-8' },
      encoding: 'utf8',
    })
  const size = ['-x', String(options.columns), '-y', String(options.rows)]
  tmux('-u', 'new-session', '-d', ...size, `${line}; echo left $?; exec sleep 600`)
  return {
    press: (...keys) => void tmux('send-keys', ...keys),
    type: (text) => void tmux('send-keys', '-l', text),
    screen: () => tmux('capture-pane', '-p'),
    painted: () => tmux('capture-pane', '-p', '-e', '-N'),
    resize: (columns, rows) => void tmux('resize-window', '-x', String(columns), '-y', String(rows)),
    close() {
      tmux('kill-server')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
