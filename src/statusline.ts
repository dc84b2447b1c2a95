// The entry of `rockpool statusline` without options, called by bin/rockpool.js. Built apart from the program: Claude Code waits for
// its status line.
import { printStatusline } from './cli/statusline-text.ts'
import { readEnvironment } from './store/config-file.ts'

/** `program`: the path of bin/rockpool.js. */
export function main(program: string): void {
  const environment = readEnvironment()
  const out = (text: string): void => void process.stdout.write(text)
  printStatusline({ environment, program, terminal: { out }, now: () => Date.now() })
}
