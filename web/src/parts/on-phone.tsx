// The page on a phone: a one-time link as a QR code, and how the phone reaches this machine.
import { useState } from 'preact/hooks'
import { useAction, useLazy } from '../live.ts'
import { Problem } from './states.tsx'

const isLocal = /^(localhost|127\.|\[::1\])/.test(location.host)

export function OnPhone() {
  const [link, setLink] = useState<string>()
  const { run, busy, error } = useAction()
  const QrCode = useLazy(() => import('./qr.tsx'))
  const show = async (): Promise<void> => {
    const made = await run('dashboard.code', {})
    setLink(made && `${location.origin}/#code=${made.code}`)
  }
  return (
    <section class="panel" aria-label="On your phone">
      <h2>On your phone</h2>
      {isLocal && (
        <p>
          This page was opened at <code>{location.host}</code>, which a phone cannot reach. Make it reachable
          first, and open this page at that address:
        </p>
      )}
      {isLocal && <Ways />}
      {link !== undefined && QrCode && (
        <figure class="scan">
          <QrCode text={link} label="QR code that opens this page on a phone" />
          <figcaption>Scan it with the camera. It works once, within a minute.</figcaption>
        </figure>
      )}
      <button type="button" disabled={busy} onClick={() => void show()}>
        {link === undefined ? 'Show a QR code' : 'Show a new one'}
      </button>
      {error && <Problem text={error} />}
    </section>
  )
}

function Ways() {
  const port = location.port || '80'
  return (
    <ul class="names">
      <li>
        Tailscale: <code>tailscale serve --bg {port}</code>, and the name of this machine there in{' '}
        <code>gateway.hosts</code> of the configuration
      </li>
      <li>
        SSH, from another computer:{' '}
        <code>
          ssh -L {port}:127.0.0.1:{port} this-machine
        </code>
      </li>
      <li>A reverse proxy with TLS in front of the gateway; see docs/security.md.</li>
    </ul>
  )
}
