// Which operation has a printer of its own. Each is loaded when its answer is shown; the others are printed by
// `printAnything`.
import type { Page } from './print.ts'

/** The answer as text for a terminal, without the last line break. */
export type Printer = (output: never, page: Page) => string

const channels = () => import('./print-channels.ts')
const changes = () => import('./print-changes.ts')
const coding = () => import('./print-coding.ts')
const done = () => import('./print-done.ts')
const one = () => import('./print-cc-session.ts')

export const printers: Readonly<Record<string, () => Promise<{ print: Printer }>>> = {
  'cc.anatomy': async () => ({ print: (await one()).printAnatomy }),
  'cc.archive': async () => ({ print: (await one()).printPutAway }),
  'cc.costs': async () => ({ print: (await import('./print-costs.ts')).printCosts }),
  'cc.info': async () => ({ print: (await import('./print-cc.ts')).printInfo }),
  'cc.list': async () => ({ print: (await import('./print-cc.ts')).printList }),
  'cc.label': async () => ({ print: (await one()).printTitled }),
  'cc.read': async () => ({ print: (await one()).printCards }),
  'cc.repair': async () => ({ print: (await import('./print-cc.ts')).printRepair }),
  'cc.select': () => import('./print-select.ts'),
  'cc.why': async () => ({ print: (await import('./print-select.ts')).printWhy }),
  'agents.add': async () => ({ print: (await import('./print-upkeep.ts')).printAgentAdded }),
  'agents.remove': async () => ({ print: (await done()).printAgentRemoved }),
  'agents.list': async () => ({ print: (await import('./print-upkeep.ts')).printAgents }),
  'approvals.answer': async () => ({ print: (await coding()).printApprovals }),
  'approvals.list': async () => ({ print: (await coding()).printApprovals }),
  'channels.add': async () => ({ print: (await channels()).printAdded }),
  'channels.list': async () => ({ print: (await channels()).printChannels }),
  'channels.status': async () => ({ print: (await channels()).printChannels }),
  'channels.remove': async () => ({ print: (await channels()).printRemoved }),
  'channels.test': async () => ({ print: (await channels()).printTested }),
  'machines.list': async () => ({ print: (await coding()).printMachines }),
  'coding.background': async () => ({ print: (await coding()).printBackground }),
  'coding.foreground': async () => ({ print: (await coding()).printText }),
  'coding.interrupt': async () => ({ print: (await coding()).printInterrupted }),
  'coding.kill': async () => ({ print: (await coding()).printKilled }),
  'coding.launch': async () => ({ print: (await coding()).printLaunched }),
  'coding.move': async () => ({ print: (await coding()).printMoved }),
  'coding.output': async () => ({ print: (await coding()).printText }),
  'coding.release': async () => ({ print: (await coding()).printReleased }),
  'coding.respond': async () => ({ print: (await coding()).printSent }),
  'coding.resume': async () => ({ print: (await coding()).printLaunched }),
  'coding.sessions': async () => ({ print: (await coding()).printSessions }),
  'coding.stats': async () => ({ print: (await coding()).printStats }),
  'approvals.revoke': async () => ({ print: (await done()).printRevoked }),
  'approvals.grants': async () => ({ print: (await coding()).printGrants }),
  backup: async () => ({ print: (await done()).printBackup }),
  health: async () => ({ print: (await import('./print-system.ts')).printHealth }),
  'restore-backup': async () => ({ print: (await done()).printRestored }),
  'service.install': async () => ({ print: (await done()).printServiceChange }),
  'service.uninstall': async () => ({ print: (await done()).printServiceChange }),
  setup: async () => ({ print: (await done()).printFound }),
  'db.status': async () => ({ print: (await import('./print-system.ts')).printDatabase }),
  'service.status': async () => ({ print: (await import('./print-system.ts')).printService }),
  'tokens.add': async () => ({ print: (await done()).printTokenAdded }),
  'tokens.remove': async () => ({ print: (await done()).printTokenRemoved }),
  'tokens.rotate': async () => ({ print: (await done()).printTokenRotated }),
  'turns.stop': async () => ({ print: (await done()).printStopped }),
  'tokens.list': async () => ({ print: (await import('./print-system.ts')).printTokens }),
  'turns.wake': async () => ({ print: (await import('./print-system.ts')).printWoken }),
  'sessions.preview': async () => ({ print: (await import('./print-sessions.ts')).printPreviews }),
  'sessions.usage': async () => ({ print: (await import('./print-sessions.ts')).printUsage }),
  doctor: async () => ({ print: (await import('./print-upkeep.ts')).printDoctor }),
  'memory.add': async () => ({ print: (await import('./print-search.ts')).printNoted }),
  'memory.list': async () => ({ print: (await import('./print-search.ts')).printNotes }),
  'memory.rebuild': async () => ({ print: (await import('./print-search.ts')).printRebuilt }),
  'memory.search': async () => ({ print: (await import('./print-search.ts')).printSearch }),
  'memory.status': async () => ({ print: (await import('./print-search.ts')).printMemoryStatus }),
  'memory.show': async () => ({ print: (await import('./print-search.ts')).printNote }),
  'message.send': async () => ({ print: (await channels()).printSent }),
  'pairing.approve': async () => ({ print: (await channels()).printApproved }),
  'pairing.deny': async () => ({ print: (await done()).printTurnedAway }),
  'pairing.remove': async () => ({ print: (await done()).printShutOut }),
  'pairing.list': async () => ({ print: (await channels()).printPairings }),
  'project.doc': async () => ({ print: (await import('./print-project.ts')).printDoc }),
  'project.docs': async () => ({ print: (await import('./print-project.ts')).printDocs }),
  'project.status': () => import('./print-project.ts'),
  logs: async () => ({ print: (await import('./print-system.ts')).printLogs }),
  'sessions.archive': async () => ({ print: (await changes()).printArchived }),
  'sessions.archives': async () => ({ print: (await changes()).printArchives }),
  'sessions.cleanup': async () => ({ print: (await changes()).printCleanup }),
  'sessions.compact': async () => ({ print: (await changes()).printCompacted }),
  'sessions.delete': async () => ({ print: (await changes()).printDeleted }),
  'sessions.fork': async () => ({ print: (await changes()).printForked }),
  'sessions.import': async () => ({ print: (await changes()).printImported }),
  'sessions.label': async () => ({ print: (await changes()).printLabelled }),
  'sessions.patch': async () => ({ print: (await changes()).printPatched }),
  'sessions.reset': async () => ({ print: (await changes()).printReset }),
  'sessions.restore': async () => ({ print: (await changes()).printRestored }),
  'turns.list': async () => ({ print: (await changes()).printTurns }),
  'sessions.export': async () => ({ print: (await import('./print-sessions.ts')).printExport }),
  status: async () => ({ print: (await import('./print-system.ts')).printStatus }),
  'config.show': async () => ({ print: (await import('./print-system.ts')).printConfig }),
  'sessions.history': async () => ({ print: (await import('./print-sessions.ts')).printHistory }),
  'sessions.lost': async () => ({ print: (await import('./print-sessions.ts')).printLost }),
  'sessions.resolve': async () => ({ print: (await import('./print-sessions.ts')).printKey }),
  'sessions.status': async () => ({ print: (await import('./print-sessions.ts')).printStanding }),
  'sessions.list': async () => ({ print: (await import('./print-sessions.ts')).printList }),
  'sessions.search': async () => ({ print: (await import('./print-search.ts')).printSearch }),
  'sessions.show': async () => ({ print: (await import('./print-sessions.ts')).printView }),
  'sessions.tail': async () => ({ print: (await import('./print-sessions.ts')).printHistory }),
}

export async function findPrinter(operationName: string): Promise<Printer> {
  const load = Object.hasOwn(printers, operationName) ? printers[operationName] : undefined
  if (load) return (await load()).print
  const { printAnything } = await import('./print.ts')
  return (output: unknown, page: Page) => printAnything(output, page)
}
