// The gateway's secrets in credentials/, each 0600: the operator's token, made at the first start, and the hook
// token, which a person sets. Neither is ever printed.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { makePrivateFile, readPrivateFile, writePrivateFile } from './private-file.ts'

export function gatewayTokenFile(stateDir: string): string {
  return join(stateDir, 'credentials', 'gateway-token')
}

export function readGatewayToken(stateDir: string): string | undefined {
  return readPrivateFile(gatewayTokenFile(stateDir))?.trim() || undefined
}

/** The operator's token; made when there is none yet. */
export function ensureGatewayToken(stateDir: string): string {
  return makePrivateFile(gatewayTokenFile(stateDir), `${newToken()}\n`).trim()
}

export function writeGatewayToken(stateDir: string, token: string): void {
  writePrivateFile(gatewayTokenFile(stateDir), `${token}\n`)
}

/** 32 random bytes as base64url. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}
