// Dark or light: as the system has it, unless somebody chose. What was chosen stays in this browser.
export type Scheme = 'dark' | 'light'

const key = 'rockpool-scheme'

/** Undefined: as the system has it. */
export function setScheme(scheme: Scheme | undefined): void {
  if (scheme === undefined) localStorage.removeItem(key)
  else localStorage.setItem(key, scheme)
  showScheme()
}

/** Called before anything is shown, so that nothing flashes. */
export function showScheme(): void {
  const chosen = localStorage.getItem(key)
  const { dataset } = document.documentElement
  if (chosen === 'dark' || chosen === 'light') dataset['scheme'] = chosen
  else delete dataset['scheme']
}
