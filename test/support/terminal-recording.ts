// Records a terminal as an animated SVG: text stays text, so that it is sharp at every size and the file is small.
import { fontFace } from './picture-fonts.ts'
import type { PseudoTerminal } from './terminal.ts'
import { columnsOf, escapeMarkup, ink, linesOf, paper } from './terminal-frame.ts'
import type { Span } from './terminal-frame.ts'

interface Frame {
  painted: string
  ms: number
}

const pollMs = 60
/** Waiting for a machine is shortened to this; a pause for the reader is not. */
const longestGapMs = 500
const typedMs = 45

export class Recording {
  #terminal: PseudoTerminal
  #frames: Frame[] = []

  constructor(terminal: PseudoTerminal) {
    this.#terminal = terminal
  }

  get seconds(): number {
    return this.#frames.reduce((sum, { ms }) => sum + ms, 0) / 1000
  }

  /** As a person types, letter by letter. */
  async type(text: string): Promise<void> {
    for (const letter of text) {
      this.#terminal.type(letter)
      await sleep(pollMs)
      this.#see(typedMs)
    }
  }

  /** Records until the screen shows this. */
  async until(wanted: RegExp): Promise<void> {
    const end = Date.now() + 60_000
    let unchangedMs = 0
    while (!wanted.test(this.#terminal.screen())) {
      if (Date.now() > end) throw new Error(`${wanted} is not shown:\n${this.#terminal.screen()}`)
      await sleep(pollMs)
      unchangedMs = this.#see(unchangedMs < longestGapMs ? pollMs : 0) ? 0 : unchangedMs + pollMs
    }
    this.#see(pollMs)
  }

  /** Gives the reader time. */
  pause(ms: number): void {
    this.#frames.at(-1)!.ms += ms
  }

  svg(columns: number, rows: number): string {
    return svgOf(this.#frames, columns, rows)
  }

  /** True if the screen has changed. */
  #see(ms: number): boolean {
    const painted = this.#terminal.painted()
    const last = this.#frames.at(-1)
    if (last?.painted === painted) {
      last.ms += ms
      return false
    }
    this.#frames.push({ painted, ms })
    return true
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const fontPx = 14
const cellWidth = fontPx * 0.6
const lineHeight = 18
const margin = 14

/** All frames stand side by side, and the animation moves from one to the next. A line that several frames share is stored once. */
function svgOf(frames: Frame[], columns: number, rows: number): string {
  const width = Math.ceil(columns * cellWidth + 2 * margin)
  const height = rows * lineHeight + 2 * margin
  const lines = new Map<string, string>()
  const shown = frames.map(({ painted }, index) => {
    const uses = linesOf(painted).map((spans, row) => {
      const drawn = spans.length === 0 ? '' : drawLine(spans)
      if (drawn === '') return ''
      if (!lines.has(drawn)) lines.set(drawn, `l${lines.size}`)
      return `<use href="#${lines.get(drawn)}" y="${row * lineHeight}"/>`
    })
    return `<g transform="translate(${index * width})">${uses.join('')}</g>`
  })
  const total = frames.reduce((sum, { ms }) => sum + ms, 0)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<style>
${fontFace('JetBrains Mono', 'mono')}
text { font: ${fontPx}px 'JetBrains Mono', ui-monospace, 'DejaVu Sans Mono', monospace; fill: ${ink}; white-space: pre }
.b { font-weight: bold } .d { opacity: .65 }
#frames { animation: play ${(total / 1000).toFixed(2)}s step-end infinite }
@keyframes play { ${keyframes(frames, total, width)} }
</style>
<defs>${[...lines].map(([drawn, id]) => `<g id="${id}">${drawn}</g>`).join('\n')}</defs>
<rect width="${width}" height="${height}" rx="8" fill="${paper}"/>
<svg x="${margin}" y="${margin}" width="${width - 2 * margin}" height="${height - 2 * margin}"><g id="frames">
${shown.join('\n')}
</g></svg>
</svg>
`
}

function keyframes(frames: Frame[], total: number, width: number): string {
  let at = 0
  return frames
    .map(({ ms }, index) => {
      const share = ((at / total) * 100).toFixed(3)
      at += ms
      return `${share}% { transform: translateX(${-index * width}px) }`
    })
    .join(' ')
}

/** A piece begins at its column, with any font of the reader. */
function drawLine(spans: Span[]): string {
  let column = 0
  let drawn = ''
  for (const { text, bold, dim, colour, background } of spans) {
    const x = (column * cellWidth).toFixed(1)
    const columns = columnsOf(text)
    column += columns
    if (background)
      drawn += `<rect x="${x}" width="${(columns * cellWidth).toFixed(1)}" height="${lineHeight}" fill="${background}"/>`
    if (text.trim() === '') continue
    const look = [bold ? 'b' : '', dim ? 'd' : ''].filter(Boolean).join(' ')
    drawn += `<text x="${x}" y="14"${look ? ` class="${look}"` : ''}${colour ? ` style="fill:${colour}"` : ''}>${escapeMarkup(text.trimEnd())}</text>`
  }
  return drawn
}
