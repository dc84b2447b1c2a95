// The notes and the media of agents in the shared database, with the places that they have on this machine.
import { hostname } from 'node:os'
import type { Postgres } from '../../store/postgres/connection.ts'
import { SharedMedia } from '../../store/postgres/media.ts'
import { SharedMemory } from '../../store/postgres/note-store.ts'
import type { Members } from '../../store/postgres/members.ts'
import type { App } from '../app.ts'
import { workspaceOf } from './workspace.ts'

type Basis = Pick<App, 'config' | 'paths' | 'clock' | 'log' | 'agentIds'>

interface Connected {
  postgres: Postgres
  members?: Members
}

export function openSharedMemory({ postgres, members }: Connected, basis: Basis): SharedMemory {
  const { config, paths, clock, log } = basis
  return new SharedMemory({
    postgres,
    ...(members ? { members } : {}),
    bases: paths.memoryBase,
    machine: members?.machine ?? config.machine.name ?? hostname(),
    agentIds: () => basis.agentIds(),
    placesOf: (agentId) => ({
      workspace: workspaceOf({ config, paths }, agentId),
      agentFolder: paths.agent(agentId),
    }),
    clock,
    log,
  })
}

export function openSharedMedia({ postgres, members }: Connected, basis: Basis): SharedMedia {
  const { config, paths, clock, log } = basis
  return new SharedMedia({
    postgres,
    ...(members ? { members } : {}),
    root: paths.media,
    workspaces: () => basis.agentIds().map((agentId) => workspaceOf({ config, paths }, agentId)),
    clock,
    log,
  })
}
