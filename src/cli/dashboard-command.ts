// `rockpool dashboard`: a link that logs in once; in the browser of this machine, or as a QR code for a phone.
import { spawn } from 'node:child_process'
import { z } from 'zod'
import type { OutputOf } from '../rpc/client.ts'
import { openClient } from './call-operation.ts'
import type { Host, LocalCommand } from './host.ts'
import { prose } from './print.ts'

export const commands: LocalCommand[] = [
  {
    name: 'dashboard',
    description: 'Print a one-time dashboard link that is valid for a minute.',
    input: z.strictObject({
      open: z.boolean().default(false).describe('Open it in the browser of this machine.'),
      qr: z.boolean().default(false).describe('Show it as a QR code, for a phone.'),
    }),
    command: { examples: ['rockpool dashboard', 'rockpool dashboard --open', 'rockpool dashboard --qr'] },
    run: async (host, { open, qr }, json) => {
      // A person wants to see the page; a script gets an error, and starts the gateway as it likes.
      if (!json) await (await import('./gateway-commands.ts')).ensureGateway(host)
      const link = await linkOf(host)
      if (open) openBrowser(link.url)
      return { ...link, qr: qr ? await qrCode(link.url) : undefined }
    },
    print: (output, page) => {
      const { url, qr } = output as { url: string; qr?: string }
      return qr === undefined ? url : [qr, url, ...reachNote(url).map((note) => prose(note, page))].join('\n')
    },
  },
]

async function linkOf(host: Host): Promise<OutputOf<'dashboard.code'>> {
  const client = await openClient(host)
  try {
    return await client.call('dashboard.code', {})
  } finally {
    await client.close()
  }
}

async function qrCode(url: string): Promise<string> {
  const { toString } = await import('qrcode')
  return toString(url, { type: 'utf8', margin: 2 })
}

/** A phone cannot open an address that exists only on this machine. */
function reachNote(url: string): string[] {
  const { hostname } = new URL(url)
  if (!/^(localhost|127\.|\[::1\])/.test(hostname)) return []
  return [
    `${hostname} is this machine only. For a phone, let the gateway listen on your private network (Tailscale, WireGuard) with \`rockpool up --bind <address>\`, or use a reverse proxy with TLS.`,
  ]
}

const openers: Readonly<Partial<Record<NodeJS.Platform, [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Does not wait: a browser may run as long as its window is open. */
export function openBrowser(url: string): void {
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore' })
  // Without a browser the link is still printed.
  child.on('error', () => {})
  child.unref()
}
