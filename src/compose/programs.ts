// Constructs the runtimes of other coding agents, each at its first use. What their sessions have received and spent is in their own
// files, which discovery reads.
import type { AgentRuntime, OtherAgent } from '../domain/agent.ts'
import { maskRuntime } from '../agent/masked-runtime.ts'
import { openProgram, type SessionFiles } from '../agent/programs/program-runtime.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { App } from '../operations/app.ts'

interface Programs {
  runtime(kind: OtherAgent): Promise<AgentRuntime>
  close(): Promise<void>
}

export function openPrograms(app: App): Programs {
  const opened = new Map<OtherAgent, Promise<AgentRuntime>>()
  const open = async (kind: OtherAgent): Promise<AgentRuntime> => {
    const runtime = await openProgram(kind, { ...partsOf(app), files: sessionFiles(app, kind) })
    return maskRuntime(runtime, app.redactor())
  }
  return {
    runtime(kind) {
      const runtime = opened.get(kind) ?? open(kind)
      opened.set(kind, runtime)
      return runtime
    },
    async close() {
      for (const runtime of opened.values()) await (await runtime).close()
    },
  }
}

function partsOf(app: App) {
  const { environment, paths, clock, log } = app
  return {
    environment,
    paths,
    clock,
    log,
    get config() {
      return app.config
    },
  }
}

function sessionFiles(app: App, kind: OtherAgent): SessionFiles {
  const find = async (sessionId: string): Promise<DiscoveredSession | undefined> => {
    // What was written a moment ago counts: a watcher may not have seen it yet.
    await app.discovery().refresh()
    const [found] = await app.discovery().known([sessionId])
    return found?.agentKind === kind ? found : undefined
  }
  return {
    async find(sessionId) {
      const found = await find(sessionId)
      return found && { ...spentBy(found), pid: found.pid }
    },
    async prompts(sessionId) {
      if (!(await find(sessionId))) return []
      const { records } = await app.discovery().conversation(sessionId)
      return records.flatMap((record) => (record.kind === 'prompt' ? [record.text] : []))
    },
  }
}

/** With sub-agents: their calls are paid for by the same session. */
function spentBy(session: DiscoveredSession) {
  const { subagentTokens: sub } = session
  return {
    costUsd: session.costUsd,
    usage: {
      input: session.totalInputTokens + sub.inputTokens,
      output: session.totalOutputTokens + sub.outputTokens,
      cacheRead: session.cacheReadTokens + sub.cacheReadTokens,
      cacheWrite: session.cacheCreationTokens + sub.cacheCreationTokens,
    },
    contextTokens: session.contextTokens,
    contextWindow: session.contextWindow,
    model: session.model,
  }
}
