// Constructs the answers to Claude hooks: the list of everything that answers them.
import { basename } from 'node:path'
import { ClaudeHooks } from '../claude-hooks/answers.ts'
import { liveSessions } from '../claude-hooks/live-sessions.ts'
import { relayPermissions } from '../claude-hooks/permission-relay.ts'
import { isQuiet } from '../claude-hooks/quiet.ts'
import { sessionCommands } from '../claude-hooks/session-commands.ts'
import { configDirsOf } from '../discovery/list-files.ts'
import { readLiveSessions } from '../discovery/registries.ts'
import type { ClaudeHookContributor, ClaudeHookEvent } from '../domain/claude-hook.ts'
import { errorText } from '../domain/errors.ts'
import { titleText } from '../domain/machine-text.ts'
import { noticeFor } from '../domain/reply.ts'
import type { Reply } from '../domain/reply.ts'
import { plainLine } from '../domain/text.ts'
import { mailHooks } from '../mail/mail-hooks.ts'
import type { App } from '../operations/app.ts'
import { ownerChats } from '../rights/owners.ts'

export function openClaudeHooks(app: App): ClaudeHooks {
  const { clock, log } = app
  const contributors = [
    liveSessions(app),
    permissionRelay(app),
    sessionCommands(app.paths.root),
    mailHooks(() => app.mail().office, clock),
    app.cacheOpinions.contributor(clock),
  ]
  return new ClaudeHooks({ contributors, clock, log })
}

function permissionRelay(app: App): ClaudeHookContributor {
  const configDirs = configDirsOf({ ...app.environment, discovery: app.config.discovery })
  return relayPermissions({
    events: app.events,
    approvals: () => app.coding().approvals,
    nameOf: (event) => nameOf(app, event),
    isWaiting: (sessionId) => readLiveSessions(configDirs).get(sessionId)?.status === 'waiting',
    isQuiet: (sessionId) => isQuiet(app.paths.root, sessionId),
    tell: (reply, key) => void tellOwner(app, reply, key),
  })
}

const nameLength = 40

async function nameOf(app: App, { sessionId, cwd = '' }: ClaudeHookEvent): Promise<string> {
  const [session] = await app.discovery().known([sessionId])
  const name = session && (session.title ?? titleText(session.firstMessage))
  return plainLine(name || basename(cwd) || sessionId, nameLength)
}

/** In every private chat with the owner. */
async function tellOwner(app: App, reply: Reply, key: string): Promise<void> {
  try {
    const { people, work } = app.storage
    const now = app.clock.now()
    const deliveries = ownerChats(app.config.channels, people).map((address) => ({
      ...noticeFor(address, '', `${key}:${address.channel}:${address.accountId}:${address.to}`, now),
      forOwner: true,
      reply,
    }))
    if (deliveries.length > 0) await work.outbox.leave(deliveries)
  } catch (error) {
    app.log.error(
      { event: 'notice-failed', notice: key, error: errorText(error) },
      'Could not queue a question of a terminal session; the chats of the owner do not get it.',
    )
  }
}
