// How many cells of a terminal a text takes. The usual library for this compiles the list of all emoji when it is
// loaded, 35 ms of every command; East Asian widths and three rules for emoji give the same answer.
import { eastAsianWidth } from 'get-east-asian-width'

export function cellWidth(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) width += clusterWidth(segment)
  return width
}

/** One character as a person sees it: a letter with its marks, an emoji of several parts. */
function clusterWidth(cluster: string): number {
  const base = cluster.match(/[^\p{Default_Ignorable_Code_Point}\p{Control}\p{Mark}\p{Surrogate}]/u)?.[0]
  if (base === undefined) return 0
  // A picture asked for by U+FE0F, a key cap, or a flag made of two letters.
  if (/\ufe0f|\u20e3|^[\u{1f1e6}-\u{1f1ff}]{2}/u.test(cluster)) return 2
  return eastAsianWidth(base.codePointAt(0)!)
}
