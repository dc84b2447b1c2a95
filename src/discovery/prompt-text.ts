// The texts of user records: which of them are real prompts, the marker that programs put in front of a first message, and
// prompts that only say to continue.

export type PromptText = { kind: 'prompt' | 'command'; text: string } | { kind: 'nothing' }

/** A program wrote it: a tag at the beginning, or the note of an interruption. */
const byProgram = /^(?:\s*<[a-z][\w-]*[\s>]|\[Request interrupted by user[^\]]*\])/
const command = /<command-name>(.*?)<\/command-name>/
const shell = /<bash-input>([\s\S]*?)<\/bash-input>/

/** The rules are those of Claude's own list of sessions: a command is not a prompt, and `!` runs a shell command. */
export function readPrompt(text: string): PromptText {
  if (text.trim() === '') return { kind: 'nothing' }
  const name = command.exec(text)?.[1]
  if (name !== undefined) return { kind: 'command', text: name }
  const line = shell.exec(text)?.[1]
  if (line !== undefined) return { kind: 'prompt', text: `! ${line.trim()}` }
  return byProgram.test(text) ? { kind: 'nothing' } : { kind: 'prompt', text }
}

/** The first block that is a prompt; a picture alone is a prompt, too. */
export function readBlocks(blocks: unknown[]): PromptText {
  let found: PromptText = { kind: 'nothing' }
  for (const block of blocks) {
    if (typeof block !== 'object' || block === null || !('type' in block)) continue
    if (block.type === 'text' && 'text' in block && typeof block.text === 'string') {
      const prompt = readPrompt(block.text)
      if (prompt.kind === 'prompt') return prompt
      if (found.kind === 'nothing') found = prompt
    } else if (block.type === 'image' && found.kind === 'nothing' && blocks.length === 1) {
      return { kind: 'prompt', text: '[image]' }
    }
  }
  return found
}

/** The agent in `[openclaw:agent=main]`, which programs put in front of a first message. Anybody can write it, so it does not
 *  prove who owns the session. */
export function originMarkerOf(firstMessage: string | undefined): string | undefined {
  return /\[openclaw:agent=([^\]]+)\]/.exec(firstMessage ?? '')?.[1]
}

/** The message without the marker. */
export function withoutMarker(firstMessage: string): string {
  return firstMessage.replace(/^\s*\[openclaw:agent=[^\]]+\]\s*/, '')
}

const continuations = new Set(
  (
    'yes|yep|yeah|y|ok|okay|sure|please|no|n|go|go ahead|go on|do it|do that|proceed|continue|continue please|carry on|' +
    'keep going|resume|next|retry|try again|again|continue where you left off|continue from where you left off|' +
    'yes please|yes continue|ok continue|ok go on|please continue|please go on|please proceed|continue the work|' +
    'ja|weiter|mach weiter|oui|continue stp|continuer|sí|si|sigue|continúa|continua|va avanti|да|продолжай|はい|続けて|継続|继续|是|好'
  ).split('|'),
)

/** True if the text only says to continue ("yes", "go on"), so that it does not describe the work. */
export function isContinuation(text: string): boolean {
  const words = text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? []
  return words.length === 0 || continuations.has(words.join(' '))
}
