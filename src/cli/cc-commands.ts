// `cc watch` and `cc attach`: they take over the terminal, so they are not operations.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'
import { bundledClaude } from '../agent/claude-program.ts'
import { RockpoolError } from '../domain/errors.ts'
import { shellWord } from '../domain/text.ts'
import { loadConfig } from '../store/config-file.ts'
import type { OutputOf } from '../rpc/client.ts'
import { openClient } from './call-operation.ts'
import type { Host, LocalCommand } from './host.ts'
import { oneLine } from './print.ts'

export const commands: LocalCommand[] = [
  {
    name: 'cc.watch',
    description:
      'Watch all coding sessions live on the whole screen; look, answer, approve and end them with keys.',
    input: z.strictObject({}),
    command: { examples: ['rockpool cc watch'] },
    async run(host) {
      const { watch } = await import('./cc-watch.ts')
      await watch(host)
      return undefined
    },
  },
  {
    name: 'cc.attach',
    description: 'Continue a session in Claude Code itself, in this terminal.',
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

type SessionInfo = OutputOf<'cc.info'>

/** Only one process may write to a conversation: a coding session that waits is released first, and one that works is
 *  refused. Afterwards Rockpool can resume it, with everything that was said in the terminal. */
async function attach(host: Host, ref: string): Promise<void> {
  const client = await openClient(host)
  try {
    const info = await client.call('cc.info', { id: ref, lines: false })
    const { coding, session } = info
    const { config } = await loadConfig(host.environment)
    checkIsHere(ref, coding?.machine, config.machine.name ?? hostname())
    checkAttachable(host, ref, info)
    if (session.isRunning && coding) await client.call('coding.release', { session: coding.id })
    for (const text of coding?.pendingMessages ?? [])
      host.terminal.err(`Not delivered yet: ${oneLine(text)}\n`)
    await runClaude(config.claude.binary ?? bundledClaude() ?? 'claude', session)
    const name = shellWord(coding?.name ?? session.sessionId)
    host.terminal.err(`Back from Claude Code. Continue in the background: rockpool cc resume ${name} "…"\n`)
  } finally {
    await client.close()
  }
}

function checkIsHere(ref: string, machine: string | undefined, here: string): void {
  if (machine === undefined || machine === here) return
  throw new RockpoolError('conflict', `${ref} is on ${machine}, and this is ${here}.`, {
    hint: `Move it here first: \`rockpool cc move ${shellWord(ref)} --machine ${shellWord(here)}\`.`,
  })
}

function checkAttachable(host: Host, ref: string, { session, coding }: SessionInfo): void {
  if (session.filePath === '') {
    throw new RockpoolError(
      'not-found',
      `${ref} never reached Claude: there is no conversation to attach to.`,
      { hint: `Launch it again: \`rockpool cc ${coding ? `again ${coding.id}` : 'launch "…" --repo .'}\`.` },
    )
  }
  if (!existsSync(session.repoPath)) {
    throw new RockpoolError('not-found', `${session.repoPath} is gone; ${ref} worked there.`, {
      hint: 'Restore the directory, then try again.',
    })
  }
  if (session.isRunning && coding?.lifecycle !== 'awaiting-input') {
    throw new RockpoolError(
      'conflict',
      `${ref} is working; two processes must not write to one conversation.`,
      {
        hint: coding
          ? 'Answer it with `rockpool cc respond`, stop it with `rockpool cc interrupt`, or fork it with `rockpool cc fork`.'
          : `Close it in its own terminal${session.pid === undefined ? '' : ` (process ${session.pid})`} first, or fork it: \`rockpool cc fork ${shellWord(ref)}\`.`,
      },
    )
  }
  if (host.terminal.canAsk) return
  throw new RockpoolError('usage', 'cc attach needs a terminal.', {
    hint: 'Use `rockpool cc resume` in a script.',
  })
}

async function runClaude(claude: string, { sessionId, repoPath }: SessionInfo['session']): Promise<void> {
  const child = spawn(claude, ['--resume', sessionId], { cwd: repoPath, stdio: 'inherit' })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', resolve)
  })
  if (code !== 0) throw new RockpoolError('agent-failed', `Claude Code ended with ${code ?? 'a signal'}.`)
}
