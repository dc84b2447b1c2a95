// Markdown for a terminal, line by line, so that it can be shown while it is written: headings, lists, quotes, code, bold,
// italic and links. Tables and everything else stay as they are.
import { cellWidth, styled, wrap } from './print.ts'

interface Paper {
  width: number
  color: boolean
}

/** Formats one line after another; remembers whether a code block is open. */
export class MarkdownLines {
  #paper: Paper
  #fence: string | undefined

  constructor(paper: Paper) {
    this.#paper = paper
  }

  /** One line of Markdown as the lines of the terminal. The text must be safe to print. */
  format(line: string): string[] {
    const fence = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence !== undefined && (this.#fence === undefined || fence.startsWith(this.#fence))) {
      this.#fence = this.#fence === undefined ? fence : undefined
      return [styled(this.#paper, 'dim', line)]
    }
    if (this.#fence !== undefined) return [styled(this.#paper, 'cyan', line)]
    return this.#formatText(line)
  }

  #formatText(line: string): string[] {
    const heading = /^#{1,6}\s+(.*)$/.exec(line)?.[1]
    if (heading !== undefined) return [styled(this.#paper, ['bold', 'underline'], heading)]
    if (/^\s*\|.*\|\s*$/.test(line)) return [line]
    if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return [styled(this.#paper, 'dim', '─'.repeat(20))]
    const [, indent = '', mark = '', text = line] = /^(\s*)([-*+]|\d+[.)]|>)\s+(.*)$/.exec(line) ?? []
    const shownMark = mark === '' ? '' : mark === '>' ? '│ ' : /\d/.test(mark) ? `${mark} ` : '• '
    const lead = indent + shownMark
    const body = wrap(this.#inline(text), Math.max(20, this.#paper.width - cellWidth(lead)))
    const next = mark === '>' ? lead : ' '.repeat(cellWidth(lead))
    return body.map((each, i) => `${i === 0 ? lead : next}${each}`)
  }

  /** Code first: nothing in it is formatted. */
  #inline(text: string): string {
    return text
      .split(/(`[^`]+`)/)
      .map((part) =>
        /^`[^`]+`$/.test(part) ? styled(this.#paper, 'cyan', part.slice(1, -1)) : this.#emphasis(part),
      )
      .join('')
  }

  #emphasis(text: string): string {
    return text
      .replace(/\*\*(?=\S)(.+?)(?<=\S)\*\*/g, (_, inner: string) => styled(this.#paper, 'bold', inner))
      .replace(/(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])/g, (_, inner: string) =>
        styled(this.#paper, 'italic', inner),
      )
      .replace(/\[([^\]]+)\]\((https?:[^)\s]+)\)/g, (_, label: string, url: string) =>
        label === url ? url : `${label} (${styled(this.#paper, 'underline', url)})`,
      )
  }
}
