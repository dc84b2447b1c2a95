// `cc watch` and `cc attach`: they take over the terminal, so they are no operations.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'
import { bundledClaude } from '../agent/binary.ts'
import { RockpoolError } from '../domain/errors.ts'
import { loadConfig } from '../store/config-file.ts'
import { openAsker } from './call-operation.ts'
import type { Host, LocalCommand } from './local-command.ts'
import { oneLine } from './print.ts'

export const commands: LocalCommand[] = [
  {
    name: 'cc.watch',
    description:
      'See all coding sessions live on the whole screen; look, answer, approve and end them with keys.',
    input: z.strictObject({}),
    command: { examples: ['rockpool cc watch'] },
    async run(host) {
      const { watch } = await import('./cc-watch.ts')
      await watch(host, () => openAsker(host))
      return undefined
    },
  },
  {
    name: 'cc.attach',
    description: 'Go on with a session in Claude Code itself, in this terminal.',
    input: z.strictObject({
      session: z.string().min(1).describe('A session: id, name, Claude id or a prefix.'),
    }),
    command: { positional: ['session'], examples: ['rockpool cc attach fix-login-bug'] },
    async run(host, input) {
      await attach(host, String(input['session']))
      return undefined
    },
  },
]

interface Attachable {
  session: { sessionId: string; repoPath: string; isRunning: boolean; filePath: string; pid?: number }
  /** If it is one of ours. */
  coding?: { id: string; name: string; lifecycle: string; unsaid: string[]; machine?: string }
}

/** Two writers would tear the conversation apart: one of ours that waits is let go first, and one at work is not attached
 *  to. Afterwards it is ours again, with what was said in the terminal. */
async function attach(host: Host, ref: string): Promise<void> {
  const asker = await openAsker(host)
  try {
    const found = (await asker.ask({ name: 'cc.info' }, { id: ref })) as Attachable
    const { coding, session } = found
    const { config } = await loadConfig(host.environment)
    checkIsHere(ref, coding?.machine, config.machine.name ?? hostname())
    checkAttachable(host, ref, found)
    if (session.isRunning && coding) await asker.ask({ name: 'coding.release' }, { session: coding.id })
    for (const text of coding?.unsaid ?? []) host.terminal.err(`Not delivered yet: ${oneLine(text)}\n`)
    await handOver(config.claude.binary ?? bundledClaude() ?? 'claude', session)
    const name = coding?.name ?? session.sessionId
    host.terminal.err(`Back from Claude Code. Go on in the background: rockpool cc resume ${name} "…"\n`)
  } finally {
    await asker.close()
  }
}

function checkIsHere(ref: string, its: string | undefined, here: string): void {
  if (its === undefined || its === here) return
  throw new RockpoolError('conflict', `${ref} is on ${its}, and this is ${here}.`, {
    hint: `Bring it here first: \`rockpool cc move ${ref} --machine ${here}\`.`,
  })
}

function checkAttachable(host: Host, ref: string, { session, coding }: Attachable): void {
  if (session.filePath === '') {
    throw new RockpoolError(
      'not-found',
      `${ref} never reached Claude, so there is no conversation to attach to.`,
      {
        hint: 'Launch it again with `rockpool cc launch`.',
      },
    )
  }
  if (!existsSync(session.repoPath)) {
    throw new RockpoolError('not-found', `${session.repoPath} is gone; ${ref} worked there.`, {
      hint: 'Bring the directory back, then try again.',
    })
  }
  if (session.isRunning && coding?.lifecycle !== 'awaiting-input') {
    throw new RockpoolError('conflict', `${ref} is at work; two writers would tear it apart.`, {
      hint: coding
        ? 'Answer it with `rockpool cc respond`, stop it with `rockpool cc interrupt`, or fork it with `rockpool cc fork`.'
        : `Close it in its own terminal${session.pid === undefined ? '' : ` (process ${session.pid})`} first, or fork it: \`rockpool cc fork ${ref}\`.`,
    })
  }
  if (host.terminal.canAsk) return
  throw new RockpoolError('usage', 'cc attach hands this terminal to Claude Code, and this is none.', {
    hint: 'Go on with `rockpool cc resume` in a script.',
  })
}

async function handOver(claude: string, { sessionId, repoPath }: Attachable['session']): Promise<void> {
  const child = spawn(claude, ['--resume', sessionId], { cwd: repoPath, stdio: 'inherit' })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', resolve)
  })
  if (code !== 0) throw new RockpoolError('agent-failed', `Claude Code ended with ${code ?? 'a signal'}.`)
}
