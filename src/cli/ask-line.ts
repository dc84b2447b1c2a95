// Asks one question at the terminal and reads one line. Between questions the terminal is released, so that Ctrl-C ends the
// program as always.
import { createInterface } from 'node:readline/promises'

export async function askLine(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // Readline keeps Ctrl-C to itself while it reads.
  lines.once('SIGINT', () => {
    lines.close()
    process.kill(process.pid, 'SIGINT')
  })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}
