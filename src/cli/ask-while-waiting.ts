// `--wait` keeps a terminal for as long as a turn takes. What the session asks meanwhile is asked there; where nobody
// sits, it is said where else it can be answered.
import { PermissionPrompt } from './answer-permission.ts'
import type { OpenQuestion, QuestionDesk } from './answer-permission.ts'
import { askLine } from './ask-line.ts'
import type { Asker } from './call-operation.ts'
import type { Host } from './local-command.ts'
import type { CodingRow } from './print-coding.ts'

const lookMs = 500

export interface Waiting {
  stop(): void
}

/** Watches over the session that a launch or a resume with this prompt has just begun. */
export function askWhileWaiting(
  asker: Asker,
  host: Host,
  asked: { prompt: unknown; json: boolean },
): Waiting {
  const since = host.now()
  const { terminal } = host
  const prompt =
    terminal.canAsk && !asked.json
      ? new PermissionPrompt(deskOf(asker), { terminal, ask: askLine })
      : undefined
  const said = new Set<string>()
  const look = async (): Promise<void> => {
    const row = await launchedSince(asker, since, asked.prompt)
    const id = row?.waiting?.approvalId
    if (!row || id === undefined || said.has(id)) return
    said.add(id)
    if (prompt) prompt.see({ type: 'waiting', for: 'permission' }, row.id)
    else {
      const answer = row.waiting?.for === 'answer' ? ' --text <answer>' : ''
      const how = `\`rockpool cc approvals\` shows it, \`cc approve ${id}${answer}\` answers it.`
      terminal.err(`${row.name} asks something: ${how}\n`)
    }
  }
  // A failed poll is ignored: the command itself reports the error.
  const timer = setInterval(() => void look().catch(() => {}), lookMs)
  return {
    stop() {
      clearInterval(timer)
      prompt?.stop()
    },
  }
}

async function launchedSince(asker: Asker, since: number, prompt: unknown): Promise<CodingRow | undefined> {
  const { sessions } = (await asker.ask({ name: 'coding.sessions' }, { limit: 20 })) as {
    sessions: Array<CodingRow & { createdAt: number }>
  }
  return sessions.find((row) => row.createdAt >= since && row.prompt === prompt)
}

function deskOf(asker: Asker): QuestionDesk {
  return {
    async open(codingId) {
      const { approvals } = (await asker.ask({ name: 'approvals.list' }, {})) as {
        approvals: Array<OpenQuestion & { codingId?: string }>
      }
      return approvals.filter((approval) => approval.codingId === codingId)
    },
    async answer({ id, inputHash }, decision) {
      await asker.ask({ name: 'approvals.answer' }, { id, inputHash, ...decision })
    },
  }
}
