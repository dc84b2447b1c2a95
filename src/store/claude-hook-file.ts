// <state>/claude-hooks.conf: where Rockpool's plugin in Claude Code reports events, and the token for it. In the format of curl's
// configuration, because two hooks are shell lines with curl; so the token is in no command line. Only the owner may read it.
// Each gateway makes a new token, so the token in the file of a dead gateway is not valid any more.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../domain/errors.ts'
import { readPrivateFile, writePrivateFile } from './disk/private-file.ts'

interface ClaudeHookFile {
  url: string
  token: string
  /** The process of the gateway. */
  pid: number
}

function claudeHookFile(stateDir: string): string {
  return join(stateDir, 'claude-hooks.conf')
}

export function writeClaudeHookFile(stateDir: string, { url, token, pid }: ClaudeHookFile): void {
  const lines = [`# process ${pid}`, `url = "${url}"`, `header = "authorization: Bearer ${token}"`]
  writePrivateFile(claudeHookFile(stateDir), `${lines.join('\n')}\n`)
}

export function readClaudeHookFile(stateDir: string): ClaudeHookFile | undefined {
  // Fails without a right to read it.
  const text = attempt(() => readPrivateFile(claudeHookFile(stateDir))) ?? ''
  const [, pid] = /^# process (\d+)$/m.exec(text) ?? []
  const [, url] = /^url = "([^"]+)"$/m.exec(text) ?? []
  const [, token] = /^header = "authorization: Bearer ([\w-]+)"$/m.exec(text) ?? []
  return pid && url && token ? { pid: Number(pid), url, token } : undefined
}

/** Removes the file if this process wrote it. */
export function removeClaudeHookFile(stateDir: string): void {
  if (readClaudeHookFile(stateDir)?.pid === process.pid) rmSync(claudeHookFile(stateDir), { force: true })
}
