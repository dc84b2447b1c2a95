// Some prompts only let a session go on: "yes", "continue", nothing at all. They say nothing about what the session is
// about.

const goOn = new Set(
  (
    'yes|yep|yeah|y|ok|okay|sure|please|no|n|go|go ahead|go on|do it|do that|proceed|continue|continue please|carry on|' +
    'keep going|resume|next|retry|try again|again|continue where you left off|continue from where you left off|' +
    'yes please|yes continue|ok continue|ok go on|please continue|please go on|please proceed|continue the work|' +
    'ja|weiter|mach weiter|oui|continue stp|continuer|sí|si|sigue|continúa|continua|va avanti|да|продолжай|はい|続けて|継続|继续|是|好'
  ).split('|'),
)

/** Does the text only let a session go on with what it does? */
export function isContinuation(text: string): boolean {
  const words = text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? []
  return words.length === 0 || goOn.has(words.join(' '))
}
