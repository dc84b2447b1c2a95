// The fonts of all pictures in docs/: Inter and JetBrains Mono, from npm (SIL Open Font License 1.1). With them a picture looks the
// same on every machine. Signs that they lack (frames, bars, emoji) come from the fonts of the machine.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Whether this run of the tests also makes the pictures of docs/. */
export const takesPictures = process.env['ROCKPOOL_SCREENSHOTS'] === '1'

const folder = join(import.meta.dirname, '../../node_modules/@fontsource-variable')
const files = {
  inter: 'inter/files/inter-latin-wght-normal.woff2',
  mono: 'jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2',
}

export function fontFace(family: string, font: keyof typeof files): string {
  const data = readFileSync(join(folder, files[font])).toString('base64')
  return `@font-face { font-family: '${family}'; font-weight: 100 800; src: url(data:font/woff2;base64,${data}) format('woff2') }`
}

/** For the dashboard, which asks for Inter, and for Cascadia Code where text has a fixed width. */
export function dashboardFonts(): string {
  return `${fontFace('Inter', 'inter')} ${fontFace('Cascadia Code', 'mono')}`
}
