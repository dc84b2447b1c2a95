// `rockpool demo`: a gateway with sample sessions that lives until Ctrl-C and leaves nothing behind.
import { existsSync, rmSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { z } from 'zod'
import type { Call } from '../rpc/client.ts'
import { callOverHttp } from '../rpc/http-call.ts'
import { readGatewayToken } from '../store/gateway-tokens.ts'
import { openBrowser } from './dashboard-command.ts'
import { sampleSessions } from './demo-samples.ts'
import { makeDemoFolder, write } from './demo-world.ts'
import type { DemoFolder } from './demo-world.ts'
import { pageOf } from './host.ts'
import type { Host, LocalCommand, ReadyLine } from './host.ts'
import { pairs, prose } from './print.ts'

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
  const removeFolder = (): void => rmSync(folder.root, { recursive: true, force: true, maxRetries: 5 })
  // A second Ctrl-C ends the process at once.
  process.once('exit', removeFolder)
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
    removeFolder()
  }
  if (!input.json) host.terminal.err('The demo is over; its folder is removed.\n')
}

async function launchSamples({ environment, repoPath }: DemoFolder, { url }: ReadyLine): Promise<void> {
  const gateway = { url, token: readGatewayToken(environment.stateDir) }
  // The output was checked against the schema that its type is made from.
  const call = ((name: string, input: Record<string, unknown>) => callOverHttp(gateway, name, input)) as Call
  for (const { name, repo, prompt, changes } of sampleSessions) {
    // A review shows what changed after the first turn began, so the files are written when that turn has ended.
    const wait = changes !== undefined
    await call('coding.launch', { prompt, name, workdir: repoPath(repo), fresh: true, wait })
    for (const [file, text] of Object.entries(changes ?? {})) write(join(repoPath(repo), file), text)
  }
}

function announce(
  host: Host,
  { environment }: DemoFolder,
  { url, dashboardUrl, tokenFile, pid }: ReadyLine,
  { open, json }: { open: boolean; json: boolean },
): void {
  const { stateDir } = environment
  const { terminal } = host
  if (json) {
    terminal.out(`${JSON.stringify({ url, tokenFile, pid, stateDir })}\n`)
    return
  }
  if (open) openBrowser(dashboardUrl)
  const page = pageOf(host)
  const rockpool = typedCommand(host)
  const commands = pairs(page, {
    [`  ${rockpool} cc watch`]: 'who needs you; a allows, d denies, ? shows the keys',
    [`  ${rockpool} cc approve`]: 'show the requests and answer them',
    [`  ${rockpool} dashboard`]: 'another link to the page',
  })
  terminal.out(
    [
      prose(
        'A demo of Rockpool: three repositories, five coding sessions, four earlier conversations. It does not use Claude.',
        page,
      ),
      '',
      `  ${dashboardUrl}`,
      '',
      prose('The link works once, within a minute. In another terminal:', page),
      '',
      `  export ROCKPOOL_STATE_DIR=${stateDir}`,
      commands,
      '',
      'Ctrl-C ends it and removes everything.',
      '',
    ].join('\n'),
  )
}

/** The words that a person types to run this program: its name if the shell finds it, else the path of the file. */
function typedCommand({ environment, program, cwd }: Host): string {
  const folders = (environment.variables['PATH'] ?? '').split(delimiter)
  if (folders.some((folder) => existsSync(join(folder, 'rockpool')))) return 'rockpool'
  const below = relative(cwd, program)
  return `node ${below.startsWith('..') ? program : below}`
}
