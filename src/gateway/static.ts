// The files of the dashboard. The gateway lists them at its start, so no request ever becomes a path.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { extname, join, relative } from 'node:path'
import { securityHeaders } from './http.ts'

interface StaticFile {
  path: string
  type: string
  /** The name changes with the content. */
  hashed: boolean
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

export type StaticFiles = ReadonlyMap<string, StaticFile>

export function listStaticFiles(root: string | undefined): StaticFiles {
  const files = new Map<string, StaticFile>()
  if (root === undefined || !existsSync(root)) return files
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const type = types[extname(entry.name)]
    const name = `/${relative(root, path).replaceAll('\\', '/')}`
    if (entry.isFile() && type) files.set(name, { path, type, hashed: name.startsWith('/assets/') })
  }
  return files
}

/** A dot in the first segment means a file; further segments may be names of repositories or sessions with dots. */
function isView(pathname: string): boolean {
  const [, first = '', ...rest] = pathname.split('/')
  return first !== 'assets' && (rest.length > 0 || extname(first) === '')
}

/** Sends a file of the dashboard, or its page for the path of a view. False if there is none. */
export function sendStatic(
  response: ServerResponse,
  pathname: string,
  files: StaticFiles,
  host: string,
): boolean {
  const file = files.get(pathname) ?? (isView(pathname) ? files.get('/index.html') : undefined)
  if (!file) return false
  response.writeHead(200, {
    ...securityHeaders,
    'content-type': file.type,
    'content-length': statSync(file.path).size,
    'content-security-policy': policy(host),
    'cache-control': file.hashed ? 'public, max-age=31536000, immutable' : 'no-cache',
  })
  response.end(readFileSync(file.path))
  return true
}

/** Scripts, styles and connections only from and to this gateway. */
function policy(host: string): string {
  return [
    "default-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ws://${host} wss://${host}`,
    "object-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}
