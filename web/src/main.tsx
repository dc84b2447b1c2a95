// The dashboard's entry: log in, connect, show.
import { render } from 'preact'
import { App } from './app.tsx'
import { showScheme } from './scheme.ts'

showScheme()
const root = document.getElementById('app')
if (root) render(<App />, root)
storePage()

/** Lets the browser store the page itself (see shell-worker.ts). Browsers allow this over TLS and on this machine. */
function storePage(): void {
  if (!('serviceWorker' in navigator)) return
  const register = (): Promise<unknown> =>
    navigator.serviceWorker.register('/shell-worker.js', { updateViaCache: 'none' })
  // After the page has loaded. If the browser refuses, for example in a private window, the page works without it.
  addEventListener('load', () => void register().catch(() => undefined))
}
