// What a session is called while it waits for an answer of each kind.
import type { Approval, CodingLifecycle, Waiting } from '../../domain/coding-session.ts'

export const awaiting: Record<Approval['kind'], { lifecycle: CodingLifecycle; for: Waiting['for'] }> = {
  tool: { lifecycle: 'awaiting-approval', for: 'approval' },
  question: { lifecycle: 'awaiting-answer', for: 'answer' },
  plan: { lifecycle: 'awaiting-plan', for: 'plan' },
  budget: { lifecycle: 'awaiting-budget', for: 'budget' },
}
