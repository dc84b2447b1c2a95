// `rockpool demo`: a gateway with sample sessions that lives until Ctrl-C and leaves nothing behind.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Call } from '../rpc/client.ts'
import { callOverHttp } from '../rpc/http-call.ts'
import { readGatewayToken } from '../store/gateway-tokens.ts'
import { openBrowser } from './dashboard-command.ts'
import { sampleSessions } from './demo-samples.ts'
import { makeDemoFolder, write } from './demo-world.ts'
import type { DemoFolder } from './demo-world.ts'
import type { Host, LocalCommand, ReadyLine } from './host.ts'

export const commands: LocalCommand[] = [
  {
    name: 'demo',
    description:
      'Try Rockpool with sample sessions, in a temporary folder. Ctrl-C ends it and removes everything.',
    input: z.strictObject({
      open: z.boolean().default(false).describe('Open the page in the browser of this machine.'),
      port: z.int().min(0).max(65_535).default(0).describe('The port; by default any free one.'),
    }),
    command: { examples: ['rockpool demo', 'rockpool demo --open'] },
    async run(host, { open, port }, json) {
      await runDemo(host, { open: open === true, port: Number(port), json })
      return undefined
    },
  },
]

async function runDemo(host: Host, input: { open: boolean; port: number; json: boolean }): Promise<void> {
  const folder = makeDemoFolder(host.environment, host.now())
  const scripts = Object.fromEntries(sampleSessions.map(({ prompt, script }) => [prompt, script]))
  let launching: Promise<void> = Promise.resolve()
  const ready = (gateway: ReadyLine): void => {
    launching = launchSamples(folder, gateway).then(
      () => announce(host, folder, gateway, input),
      (error: unknown) => host.terminal.err(`The sample sessions could not be started: ${String(error)}\n`),
    )
  }
  try {
    await host.up({ port: input.port }, ready, { environment: folder.environment, scripts })
    await launching
  } finally {
    rmSync(folder.root, { recursive: true, force: true, maxRetries: 5 })
  }
  if (!input.json) host.terminal.err('The demo is over; its folder is removed.\n')
}

async function launchSamples({ environment, repoPath }: DemoFolder, { url }: ReadyLine): Promise<void> {
  const gateway = { url, token: readGatewayToken(environment.stateDir) }
  // The output was checked against the schema that its type is made from.
  const call = ((name: string, input: Record<string, unknown>) => callOverHttp(gateway, name, input)) as Call
  for (const { name, repo, prompt, changes = {} } of sampleSessions) {
    await call('coding.launch', { prompt, name, workdir: repoPath(repo), fresh: true })
    for (const [file, text] of Object.entries(changes)) write(join(repoPath(repo), file), text)
  }
}

function announce(
  { terminal }: Host,
  { environment }: DemoFolder,
  { url, dashboardUrl, tokenFile, pid }: ReadyLine,
  { open, json }: { open: boolean; json: boolean },
): void {
  const { stateDir } = environment
  if (json) {
    terminal.out(`${JSON.stringify({ url, tokenFile, pid, stateDir })}\n`)
    return
  }
  if (open) openBrowser(dashboardUrl)
  terminal.out(
    [
      'A demo of Rockpool: three repositories, five coding sessions, four earlier conversations. No Claude is asked.',
      '',
      `  ${dashboardUrl}`,
      '',
      'The link works once, within a minute. In another terminal:',
      '',
      `  export ROCKPOOL_STATE_DIR=${stateDir}`,
      '  rockpool cc watch         who needs you; a allows, d denies, ? shows the keys',
      '  rockpool cc approve       what is asked, and your answer',
      '  rockpool dashboard        another link to the page',
      '',
      'Ctrl-C ends it and removes everything.',
      '',
    ].join('\n'),
  )
}
