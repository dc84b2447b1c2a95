// Lets the browser keep the page itself (see shell-worker.ts). Browsers allow it over TLS and on this machine.
export function keepShell(): void {
  if (!('serviceWorker' in navigator)) return
  const keep = (): Promise<unknown> =>
    navigator.serviceWorker.register('/shell-worker.js', { updateViaCache: 'none' })
  // After everything that is needed to see something. Refused, for example in a private window, the page works without.
  addEventListener('load', () => void keep().catch(() => undefined))
}
