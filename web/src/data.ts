// What the page reads of the gateway's answers: the project's own types, as they look after the wire.
import type { Anatomy as AnatomyOfFile } from '../../src/domain/anatomy.ts'
import type { Approval as StoredApproval, CodingRequest, CodingSession } from '../../src/domain/coding.ts'
import type { Cost, DiscoveredSession } from '../../src/domain/discovered-session.ts'
import type { ProjectStatus as Status } from '../../src/domain/project-status.ts'
import type { SessionPrice } from '../../src/domain/selection.ts'

export type { Card, CardPage } from '../../src/domain/card.ts'
export type { SessionScore, SessionSelection } from '../../src/domain/selection.ts'

/** Times go over the wire as text. */
type OnWire<Value> = Value extends Date
  ? string
  : Value extends object
    ? { [Field in keyof Value]: OnWire<Value[Field]> }
    : Value

export type NativeSession = OnWire<DiscoveredSession>

export type ProjectStatus = OnWire<Status>

export type CodingRow = Omit<CodingSession, 'request' | 'end' | 'owner' | 'sdkSessionId'> &
  Pick<CodingRequest, 'prompt' | 'workdir'> & {
    endMessage?: string
    completedAt?: number
    claudeSessionId?: string
  }

export type Approval = Omit<StoredApproval, 'input'> & {
  /** The coding session's name. */
  session?: string
  choices: string[]
  alike: number
}

export interface Health {
  verdict: 'sound' | 'degraded' | 'broken'
  reachableShare: number
  findings: string[]
}

export type CostLine = Cost & { key: string; name?: string }

export interface Costs {
  totals: Cost
  by: CostLine[]
  pricesAsOf: string
}

export type Anatomy = AnatomyOfFile & {
  contextTokens: number
  contextWindow: number
  price: SessionPrice
}

/** Something that a chat of the page was told without asking. */
export interface Notice {
  id: string
  at: number
  text: string
  buttons: Array<Array<{ label: string; data: string }>>
  codingId?: string
}
