// Which file prints the output of an operation: by its name, else by its noun. Each file is loaded when it is needed.
import type { Page, Printers } from './print.ts'

type Load = () => Promise<{ printers: Printers }>
type Printer = (output: unknown, page: Page) => string

const approvals: Load = () => import('./print-approvals.ts')
const coding: Load = () => import('./print-coding.ts')
const sessions: Load = () => import('./print-sessions.ts')
const status: Load = () => import('./print-status.ts')
const system: Load = () => import('./print-system.ts')
const history: Load = () => import('./print-history.ts')
const oneSession: Load = () => import('./print-cc-session.ts')
const selection: Load = () => import('./print-select.ts')
const search: Load = () => import('./print-search.ts')
const results: Load = () => import('./print-results.ts')

const files: Readonly<Record<string, Load>> = {
  agents: system,
  approvals,
  cc: () => import('./print-cc.ts'),
  'cc.anatomy': oneSession,
  'cc.costs': () => import('./print-costs.ts'),
  'cc.read': oneSession,
  'cc.select': selection,
  'cc.similar': search,
  'cc.handoff': () => import('./print-trim.ts'),
  'cc.trim': () => import('./print-trim.ts'),
  'cc.why': selection,
  channels: () => import('./print-channels.ts'),
  'claude-plugin': () => import('./print-claude-plugin.ts'),
  coding,
  'coding.review': () => import('./print-review.ts'),
  config: system,
  db: status,
  doctor: system,
  logs: system,
  machines: coding,
  mail: () => import('./print-mail.ts'),
  memory: search,
  pairing: () => import('./print-channels.ts'),
  rules: approvals,
  project: () => import('./print-project.ts'),
  schedules: () => import('./print-schedules.ts'),
  sessions,
  'sessions.export': history,
  'sessions.history': history,
  'sessions.lost': history,
  'sessions.search': search,
  'sessions.tail': history,
  status,
  tokens: system,
  turns: sessions,
  vault: () => import('./print-vault.ts'),
  why: () => import('./print-why.ts'),
}

export async function findPrinter(name: string): Promise<Printer> {
  const load = files[name] ?? files[name.split('.', 1)[0]!]
  const found = (await load?.())?.printers[name as keyof Printers]
  const print = found ?? (await results()).printers[name as keyof Printers]
  // The table is keyed by operation, and each printer takes the output of its own operation.
  return (print as Printer | undefined) ?? (await import('./print.ts')).printFields
}
