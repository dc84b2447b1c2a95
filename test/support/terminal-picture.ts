// A picture of a terminal's screen, for the documentation: its colours become a page, and the browser takes it.
import type { Browser } from 'playwright-core'

interface Look {
  bold: boolean
  dim: boolean
  colour: string | undefined
  onWhite: boolean
}

/** The eight colours of a terminal, readable on white. */
const colours = ['#24292f', '#b3261e', '#116329', '#7d4e00', '#0550ae', '#8250df', '#0b6e7a', '#57606a']

const frame = `
  body { margin: 0; background: #fff }
  pre { margin: 0; width: fit-content; padding: 14px 18px; border: 1px solid #d0d7de; background: #f3f6f6;
    color: #24292f; font: 14px/1.1641 'DejaVu Sans Mono', monospace }
`

/** What is painted, without the empty lines below it. */
export async function takePicture(browser: Browser, painted: string, file: string): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 1000 } })
  const page = await context.newPage()
  await page.setContent(`<style>${frame}</style><pre>${asHtml(painted.trimEnd())}</pre>`)
  await page.locator('pre').screenshot({ path: file })
  await context.close()
}

function asHtml(painted: string): string {
  let look = plain()
  // oxlint-disable-next-line no-control-regex -- escape sequences begin with one
  return painted.replace(/\u001b\[([\d;]*)m|([^\u001b]+)/g, (_, codes: string | undefined, text: string) => {
    if (text !== undefined) return spanOf(look, text)
    look = changed(look, (codes ?? '').split(';').map(Number))
    return ''
  })
}

function plain(): Look {
  return { bold: false, dim: false, colour: undefined, onWhite: false }
}

function changed(look: Look, codes: number[]): Look {
  return codes.reduce((before, code) => {
    if (code === 0) return plain()
    if (code === 1) return { ...before, bold: true }
    if (code === 2) return { ...before, dim: true }
    if (code === 22) return { ...before, bold: false, dim: false }
    if (code === 107 || code === 49) return { ...before, onWhite: code === 107 }
    if (code === 39) return { ...before, colour: undefined }
    if (code >= 30 && code <= 37) return { ...before, colour: colours[code - 30] }
    if (code >= 90 && code <= 97) return { ...before, colour: colours[code === 90 ? 7 : code - 90] }
    return before
  }, look)
}

function spanOf({ bold, dim, colour, onWhite }: Look, text: string): string {
  const escaped = text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`)
  const style = [
    ...(bold ? ['font-weight:bold'] : []),
    ...(colour ? [`color:${colour}`] : []),
    ...(dim ? ['opacity:.65'] : []),
    ...(onWhite ? ['background:#fff'] : []),
  ].join(';')
  return style === '' ? escaped : `<span style="${style}">${escaped}</span>`
}
