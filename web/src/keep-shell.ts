// Lets the browser store the page itself (see shell-worker.ts). Browsers allow this over TLS and on this machine.
export function keepShell(): void {
  if (!('serviceWorker' in navigator)) return
  const keep = (): Promise<unknown> =>
    navigator.serviceWorker.register('/shell-worker.js', { updateViaCache: 'none' })
  // After the page has loaded. If the browser refuses, for example in a private window, the page works without it.
  addEventListener('load', () => void keep().catch(() => undefined))
}
