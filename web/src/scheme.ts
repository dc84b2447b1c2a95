// The dark or light theme: the one of the system, or the chosen one, which is stored in this browser.
type Scheme = 'dark' | 'light'

const key = 'rockpool-scheme'

/** Undefined: the theme of the system. */
export function setScheme(scheme: Scheme | undefined): void {
  if (scheme === undefined) localStorage.removeItem(key)
  else localStorage.setItem(key, scheme)
  showScheme()
}

/** Called before the first rendering, so that nothing flashes. */
export function showScheme(): void {
  const chosen = localStorage.getItem(key)
  const { dataset } = document.documentElement
  if (chosen === 'dark' || chosen === 'light') dataset['scheme'] = chosen
  else delete dataset['scheme']
}
