// What a terminal shows, as lines of text in colours: for pictures and recordings in docs/.
import { eastAsianWidth } from 'get-east-asian-width'

export interface Span {
  text: string
  bold: boolean
  dim: boolean
  colour: string | undefined
  background: string | undefined
}

type Look = Omit<Span, 'text'>

/** The eight colours of a terminal, readable on a light ground. */
const colours = ['#24292f', '#b3261e', '#116329', '#7d4e00', '#0550ae', '#8250df', '#0b6e7a', '#57606a']
export const ink = colours[0]!
export const paper = '#f3f6f6'

const plain: Look = { bold: false, dim: false, colour: undefined, background: undefined }

/** Reads the text of `tmux capture-pane -e`. */
export function linesOf(painted: string): Span[][] {
  let look = plain
  return painted.split('\n').map((line) => {
    const spans: Span[] = []
    // oxlint-disable-next-line no-control-regex -- escape sequences begin with one
    for (const [, codes, text] of line.matchAll(/\u001b\[([\d;]*)m|([^\u001b]+)/g)) {
      if (text === undefined) look = (codes ?? '').split(';').map(Number).reduce(changed, look)
      else spans.push({ ...look, text })
    }
    return spans
  })
}

function changed(look: Look, code: number): Look {
  if (code === 0) return plain
  if (code === 1) return { ...look, bold: true }
  if (code === 2) return { ...look, dim: true }
  if (code === 22) return { ...look, bold: false, dim: false }
  // A selected row keeps its colours.
  if (code === 7) return { ...look, background: '#cfe5e3' }
  if (code === 27) return { ...look, background: undefined }
  if (code === 39) return { ...look, colour: undefined }
  if (code === 49) return { ...look, background: undefined }
  if (code === 107) return { ...look, background: '#fff' }
  if (code >= 30 && code <= 37) return { ...look, colour: colours[code - 30] }
  if (code >= 90 && code <= 97) return { ...look, colour: colours[code === 90 ? 7 : code - 90] }
  return look
}

/** In columns of the terminal. */
export function columnsOf(text: string): number {
  return Array.from(text).reduce((sum, char) => sum + eastAsianWidth(char.codePointAt(0)!), 0)
}

export function escapeMarkup(text: string): string {
  return text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`)
}
