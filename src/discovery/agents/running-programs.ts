// Processes of coding agents that hold no locks, and the sessions that they have open: of a process, the newest session of its
// folder that has changed since it started. If two processes work in one folder, it is unknown which session each of them writes.
import { readFileSync, readlinkSync } from 'node:fs'
import { attempt } from '../../domain/errors.ts'
import { namesIn } from '../../store/disk/foreign-file.ts'
import type { LiveSession } from '../registries.ts'
import type { AgentProcess, LiveWorld } from './contract.ts'

const names = new Set(['gemini', 'opencode', 'pi'])
const ticksPerSecond = 100

/** From /proc: other systems than Linux have none. */
export function runningPrograms(now: number): AgentProcess[] {
  const bootMs = now - Number(attempt(() => readFileSync('/proc/uptime', 'utf8'), '').split(' ')[0]) * 1_000
  return namesIn('/proc').flatMap((entry): AgentProcess[] => {
    const name = /^\d+$/.test(entry) ? nameOf(entry) : undefined
    if (name === undefined) return []
    const cwd = attempt(() => readlinkSync(`/proc/${entry}/cwd`))
    const stat = attempt(() => readFileSync(`/proc/${entry}/stat`, 'utf8'), '')
    const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
    if (cwd === undefined || !Number.isFinite(ticks)) return []
    return [{ pid: Number(entry), name, cwd, startedMs: bootMs + (ticks / ticksPerSecond) * 1_000 }]
  })
}

/** The program, or the script that Node runs. */
function nameOf(pid: string): string | undefined {
  const name = attempt(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
  if (name !== undefined && names.has(name)) return name
  if (name !== 'node' && name !== 'MainThread') return undefined
  const script = attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').split('\0')[1] ?? ''
  const base = script.slice(script.lastIndexOf('/') + 1).replace(/\.m?js$/, '')
  return names.has(base) ? base : undefined
}

/** The clocks of processes and files differ a little. */
const toleranceMs = 1_000

export function openByProcess(name: string, world: LiveWorld): Map<string, LiveSession> {
  const live = new Map<string, LiveSession>()
  const sessions = world.sessions()
  // Most people use one agent, and a look at all processes takes longer than everything else in a list.
  if (sessions.length === 0) return live
  for (const { pid, cwd, startedMs } of world.processes().filter((one) => one.name === name)) {
    const [newest] = sessions
      .filter((session) => session.cwd === cwd && session.mtimeMs >= startedMs - toleranceMs)
      .sort((a, b) => b.mtimeMs - a.mtimeMs)
    if (newest) live.set(newest.sessionId, { sessionId: newest.sessionId, pid, status: 'idle', statusAt: 0 })
  }
  return live
}
