// A picture of a terminal's screen, for the documentation: its colours become a page, and the browser takes it.
import { writeFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { fontFace } from './picture-fonts.ts'
import { smallPicture } from './small-picture.ts'
import { escapeMarkup, ink, linesOf, paper } from './terminal-frame.ts'
import type { Span } from './terminal-frame.ts'

const frame = `
  ${fontFace('JetBrains Mono', 'mono')}
  body { margin: 0; background: #fff }
  pre { margin: 0; width: fit-content; padding: 14px 18px; border: 1px solid #d0d7de; background: ${paper};
    color: ${ink}; font: 14px/1.2 'JetBrains Mono', 'DejaVu Sans Mono', monospace }
`

/** What is painted, without the empty lines below it. */
export async function takePicture(browser: Browser, painted: string, file: string): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, deviceScaleFactor: 2 })
  const page = await context.newPage()
  const lines = linesOf(painted.trimEnd()).map((spans) => spans.map(htmlOf).join(''))
  await page.setContent(`<style>${frame}</style><pre>${lines.join('\n')}</pre>`)
  await page.evaluate('document.fonts.ready')
  writeFileSync(file, smallPicture(await page.locator('pre').screenshot()))
  await context.close()
}

function htmlOf({ text, bold, dim, colour, background }: Span): string {
  const style = [
    ...(bold ? ['font-weight:bold'] : []),
    ...(colour ? [`color:${colour}`] : []),
    ...(dim ? ['opacity:.65'] : []),
    ...(background ? [`background:${background}`] : []),
  ].join(';')
  const escaped = escapeMarkup(text)
  return style === '' ? escaped : `<span style="${style}">${escaped}</span>`
}
