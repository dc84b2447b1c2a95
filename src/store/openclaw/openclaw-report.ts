// The last report of the plugin in OpenClaw about OpenClaw's agents, in the state directory. Kept so that the limits of these
// agents are known after a restart, before the plugin connects again.
import { join } from 'node:path'
import { openclawPrefix } from '../../domain/agent.ts'
import { attempt } from '../../domain/errors.ts'
import { parseRecord } from '../../domain/json.ts'
import type { OpenClawAgent, OpenClawReport } from '../../domain/openclaw-contract.ts'
import { readPrivateFile, writePrivateFile } from '../disk/private-file.ts'
import type { StatePaths } from '../paths.ts'

type Paths = Pick<StatePaths, 'root'>

/** Undefined when there is none, or when the file is damaged: then the agents have the limits of any other agent until the
 *  plugin connects. */
export function readOpenClawReport(paths: Paths): OpenClawReport | undefined {
  // Rockpool itself wrote the file, after it had checked the report.
  const report = attempt(() => parseRecord(readPrivateFile(reportFile(paths)) ?? ''))
  return Array.isArray(report?.['agents']) ? (report as unknown as OpenClawReport) : undefined
}

export function writeOpenClawReport(paths: Paths, report: OpenClawReport): void {
  writePrivateFile(reportFile(paths), `${JSON.stringify(report, null, 2)}\n`)
}

/** The agent of OpenClaw behind Rockpool's agent `openclaw-<id>`. */
export function openclawAgentOf(paths: Paths, agentId: string): OpenClawAgent | undefined {
  if (!agentId.startsWith(openclawPrefix)) return undefined
  const id = agentId.slice(openclawPrefix.length)
  return readOpenClawReport(paths)?.agents.find((agent) => agent.id === id)
}

/** The ids that OpenClaw's agents have in Rockpool. */
export function openclawAgentIds(paths: Paths): string[] {
  return (readOpenClawReport(paths)?.agents ?? []).map(({ id }) => `${openclawPrefix}${id}`)
}

function reportFile({ root }: Paths): string {
  // Not `openclaw.json`: a state directory that is shared with OpenClaw has its configuration under that name.
  return join(root, 'openclaw-agents.json')
}
