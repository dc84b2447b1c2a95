// Which user records are something that was really asked. The rules are those of Claude's own list of sessions: what
// begins with a tag was put there by a program, a command is named but not taken for a prompt, `!` runs in a shell.

export type Asked = { kind: 'prompt' | 'command'; text: string } | { kind: 'nothing' }

const byProgram = /^(?:\s*<[a-z][\w-]*[\s>]|\[Request interrupted by user[^\]]*\])/
const command = /<command-name>(.*?)<\/command-name>/
const shell = /<bash-input>([\s\S]*?)<\/bash-input>/

export function readPrompt(text: string): Asked {
  if (text.trim() === '') return { kind: 'nothing' }
  const name = command.exec(text)?.[1]
  if (name !== undefined) return { kind: 'command', text: name }
  const line = shell.exec(text)?.[1]
  if (line !== undefined) return { kind: 'prompt', text: `! ${line.trim()}` }
  return byProgram.test(text) ? { kind: 'nothing' } : { kind: 'prompt', text }
}

/** The first of several blocks that asks something; a picture alone asks, too. */
export function readBlocks(blocks: unknown[]): Asked {
  let found: Asked = { kind: 'nothing' }
  for (const block of blocks) {
    if (typeof block !== 'object' || block === null || !('type' in block)) continue
    if (block.type === 'text' && 'text' in block && typeof block.text === 'string') {
      const asked = readPrompt(block.text)
      if (asked.kind === 'prompt') return asked
      if (found.kind === 'nothing') found = asked
    } else if (block.type === 'image' && found.kind === 'nothing' && blocks.length === 1) {
      return { kind: 'prompt', text: '[image]' }
    }
  }
  return found
}
