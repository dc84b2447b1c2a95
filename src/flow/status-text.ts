// What /status says about a session.
import type { WaitingInput } from '../store/work-store.ts'
import type { CommandParts } from './flow-parts.ts'
import { resolveQueueSettings } from './queue-settings.ts'

export async function statusText(input: WaitingInput, parts: CommandParts): Promise<string> {
  const entry = await parts.sessions(input.agentId).get(input.lane)
  const agent = parts.agentOf(input.agentId)
  const waiting = parts.queue.waiting(input.lane).length
  const running = parts.queue.isBusy(input.lane) ? 'a turn is running' : 'idle'
  const channel = input.message.address.channel
  const queue = resolveQueueSettings({
    config: parts.config.messages.queue,
    channel,
    ...(entry ? { entry } : {}),
  })
  const model = entry?.modelOverride ?? entry?.model ?? agent.model ?? "Claude's own choice"
  const lines = [
    `Agent: ${agent.name} (${parts.runtime.kind === 'claude' ? 'Claude' : 'offline: not connected to Claude'})`,
    `Session: ${entry ? `${entry.sessionId.slice(0, 8)}${entry.label ? `, ${entry.label}` : ''}` : 'none yet'}`,
    `Model: ${model}`,
    `State: ${running}${waiting > 0 ? `, ${waiting} waiting` : ''}`,
    `Queue: ${queue.mode}`,
  ]
  if (entry?.totalTokens !== undefined && entry.totalTokensFresh !== false && entry.contextTokens) {
    const percent = Math.round((100 * entry.totalTokens) / entry.contextTokens)
    lines.push(
      `Context: ${entry.totalTokens} of ${entry.contextTokens} tokens (${percent}%), ${entry.compactionCount ?? 0} compactions`,
    )
  }
  if (entry?.estimatedCostUsd) {
    const label = parts.runtime.billing === 'subscription' ? ' at API prices' : ''
    lines.push(`Cost: $${entry.estimatedCostUsd.toFixed(4)}${label}`)
  }
  return lines.join('\n')
}
