// The entry of `rockpool statusline` without options, called by bin/rockpool.js. Built apart from the program: Claude Code waits for
// its status line.
import { writeSync } from 'node:fs'
import { printStatusline } from './cli/statusline-text.ts'
import { readEnvironment } from './store/config-file.ts'

/** `program`: the path of bin/rockpool.js. */
export function main(program: string): void {
  const environment = readEnvironment()
  // The stream of standard output would load Node's sockets, which takes longer than the line.
  const out = (text: string): void => void writeSync(1, text)
  printStatusline({ environment, program, terminal: { out }, now: () => Date.now() })
}
