// The doctor's findings and the agents, for people.
import { oneLine, prose, styled, table, visible } from './print.ts'
import type { Page } from './print.ts'

interface DoctorReport {
  findings: Array<{ where: string; says: string; remedy: string; fixable: boolean }>
  fixed: number
  failed: string[]
  notes: string[]
}

/** What is wrong, what mending would do, and what is left to a person; then what is missing. */
export function printDoctor(report: DoctorReport, page: Page): string {
  const notes = report.notes.map((note) => styled(page, 'yellow', prose(note, page)))
  return [printFindings(report, page), ...notes].join('\n')
}

function printFindings({ findings, fixed, failed, notes }: DoctorReport, page: Page): string {
  if (findings.length === 0) return notes.length > 0 ? 'Nothing is damaged.' : 'Nothing is wrong.'
  const lines = findings.map(({ where, says, remedy, fixable }) => {
    const mark = styled(page, fixable ? 'yellow' : 'red', fixable ? '!' : 'x')
    return `${mark} ${oneLine(says)}\n  ${styled(page, 'dim', oneLine(where))}\n  ${oneLine(remedy)}`
  })
  const fixable = findings.filter((finding) => finding.fixable).length
  const closing =
    fixed > 0 ? `${fixed} mended.` : fixable > 0 ? `\`rockpool doctor --fix\` mends ${fixable}.` : ''
  return [...lines, ...failed.map((text) => styled(page, 'red', visible(text))), closing]
    .filter(Boolean)
    .join('\n')
}

interface AgentList {
  agents: Array<{ id: string; name?: string; default: boolean; model?: string; workspace: string }>
}

export function printAgents({ agents }: AgentList, page: Page): string {
  return table(
    agents,
    [
      { title: 'AGENT', value: (agent) => agent.id, min: 6 },
      { title: 'NAME', value: (agent) => agent.name ?? '-' },
      { title: 'DEFAULT', value: (agent) => (agent.default ? 'yes' : '') },
      { title: 'MODEL', value: (agent) => agent.model ?? '-' },
      { title: 'WORKSPACE', value: (agent) => agent.workspace, min: 12 },
    ],
    page,
  )
}

export function printAgentAdded({ id, folder }: { id: string; folder: string }, page: Page): string {
  return prose(`The agent ${oneLine(id)} is there; its folder is ${oneLine(folder)}.`, page)
}
