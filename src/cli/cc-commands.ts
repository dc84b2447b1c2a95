// `cc watch` and `cc attach`: they take over the terminal, so they are no operations.
import { spawn } from 'node:child_process'
import { z } from 'zod'
import { bundledClaude } from '../agent/binary.ts'
import { RockpoolError } from '../domain/errors.ts'
import { loadConfig } from '../store/config-file.ts'
import { openAsker } from './ask.ts'
import type { Host, LocalCommand } from './local-command.ts'

export const commands: LocalCommand[] = [
  {
    name: 'cc.watch',
    says: 'See all coding sessions live on the whole screen; look, answer, approve and end them with keys.',
    input: z.strictObject({}),
    command: { examples: ['rockpool cc watch'] },
    async run(host) {
      const { watch } = await import('./cc-watch.ts')
      const asker = await openAsker(host)
      try {
        await watch(host, asker)
      } finally {
        await asker.close()
      }
      return undefined
    },
  },
  {
    name: 'cc.attach',
    says: 'Go on with a session in Claude Code itself, in this terminal.',
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
  sessionId: string
  repoPath: string
  isRunning: boolean
}

/** Two writers would tear the conversation apart, so a session that runs is not attached to. */
async function attach(host: Host, ref: string): Promise<void> {
  const session = await findSession(host, ref)
  if (session.isRunning) {
    throw new RockpoolError('conflict', `${ref} runs now; two writers would tear it apart.`, {
      hint: 'End it with `rockpool cc kill`, or fork it with `rockpool cc fork`.',
    })
  }
  const { config } = await loadConfig(host.environment)
  const claude = config.claude.binary ?? bundledClaude() ?? 'claude'
  const child = spawn(claude, ['--resume', session.sessionId], { cwd: session.repoPath, stdio: 'inherit' })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', resolve)
  })
  if (code !== 0) throw new RockpoolError('agent-failed', `Claude Code ended with ${code ?? 'a signal'}.`)
}

async function findSession(host: Host, ref: string): Promise<Attachable> {
  const asker = await openAsker(host)
  try {
    const { sessions } = (await asker.ask({ name: 'coding.sessions' }, { limit: 1000 })) as {
      sessions: Array<{ id: string; name: string; status: string; workdir: string; claudeSessionId?: string }>
    }
    const ours = sessions.find((one) => one.id === ref || one.name === ref)
    if (ours?.claudeSessionId) {
      const isRunning = ours.status === 'running' || ours.status === 'starting'
      return { sessionId: ours.claudeSessionId, repoPath: ours.workdir, isRunning }
    }
    return (await asker.ask({ name: 'cc.info' }, { id: ref })) as Attachable
  } finally {
    await asker.close()
  }
}
