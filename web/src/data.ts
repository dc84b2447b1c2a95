// What the page reads of the gateway's answers.

export interface CodingRow {
  id: string
  name: string
  status: 'starting' | 'running' | 'completed' | 'failed' | 'killed'
  lifecycle: string
  waiting?: { for: string; since: number; about: string; approvalId?: string }
  endMessage?: string
  prompt: string
  workdir: string
  model?: string
  costUsd: number
  budgetUsd: number
  contextTokens?: number
  contextWindow?: number
  turns: number
  doing?: string
  lastActivityAt: number
  completedAt?: number
  waitedMs: number
  claudeSessionId?: string
}

export interface NativeSession {
  sessionId: string
  source: 'rockpool' | 'openclaw' | 'native-only'
  agentId?: string
  repoPath: string
  branch: string
  firstMessage: string
  lastPrompt?: string
  title?: string
  label?: string
  lastModified: string
  messageCount: number
  promptCount: number
  compactionCount: number
  model?: string
  costUsd: number
  contextTokens?: number
  contextWindow?: number
  warm: boolean
  isRunning: boolean
  status: 'busy' | 'idle' | 'waiting' | 'stopped'
  waitingFor?: string
  archived?: boolean
  totalInputTokens: number
  totalOutputTokens: number
  cacheReadTokens: number
  cacheCreationTokens: number
}

export interface Health {
  verdict: 'sound' | 'degraded' | 'broken'
  reachableShare: number
  findings: string[]
}

export interface Card {
  kind: 'prompt' | 'text' | 'thinking' | 'tool' | 'result' | 'compaction' | 'notice'
  uuid?: string
  at: number
  text: string
  tool?: { name: string; input: Record<string, unknown> }
  toolUseId?: string
  isError?: boolean
}

export interface Approval {
  id: string
  session?: string
  codingId?: string
  kind: 'tool' | 'question' | 'plan' | 'budget'
  toolName: string
  shown: string
  inputHash: string
  askedAt: number
  alike: number
}

export interface SessionScore {
  sessionId: string
  total: number
  factors: Record<'branch' | 'recency' | 'relevance' | 'health' | 'capacity', number>
  ceiling?: string
  reason: string
  price?: {
    resumeUsd: number
    forkUsd: number
    freshUsd: number
    compactThenResumeUsd: number
    tokens: number
    cache: 'warm' | 'cold'
  }
}

export interface Selection {
  action: 'resume' | 'fork' | 'fresh' | 'queue'
  sessionId?: string
  reason: string
  scores: SessionScore[]
}

export interface CostLine {
  key: string
  name?: string
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheCreationTokens: number
  costUsd: number
}

export interface Costs {
  totals: Omit<CostLine, 'key'>
  by: CostLine[]
}

export type ContextKind = 'system' | 'prompts' | 'answers' | 'thinking' | 'tools' | 'results' | 'summary'

export interface Anatomy {
  context: Array<{ kind: ContextKind; tokens: number }>
  contextTokens: number
  contextWindow: number
  calls: Array<{ at: number; contextTokens: number; outputTokens: number; costUsd: number }>
  compactedAt: number[]
  files: Array<{ path: string; reads: number; writes: number }>
  subagents: Array<{ name: string; about: string; at: number }>
  partial: boolean
  price: {
    cache: 'warm' | 'cold'
    warmForMs?: number
    resumeUsd: number
    forkUsd: number
    compactThenResumeUsd: number
    freshUsd: number
  }
}
