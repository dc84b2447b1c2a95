// What a test may tell the offline agent to do, written in the prompt: `[[offline: say Hello]]`.
import type { TurnEvent, TurnFailure } from '../domain/turn.ts'

export type Direction =
  | { do: 'wait'; ms: number }
  | { do: 'say'; text: string }
  | { do: 'fail'; why: TurnFailure }
  | { do: 'ask'; tool: string; input: Record<string, unknown> }
  | { do: 'call'; tool: string; input: Record<string, unknown> }
  | { do: 'emit'; event: TurnEvent }

/** `wait 200`, `say words`, `fail rate-limited`, `ask Bash {"command":"ls"}`, `call tool {…}`, `emit {event}`. */
export function readDirections(text: string): Direction[] {
  return [...text.matchAll(/\[\[offline: (\w+) ?([\s\S]*?)\]\]/g)].map(([, verb = '', rest = '']) =>
    readDirection(verb, rest),
  )
}

function readDirection(verb: string, rest: string): Direction {
  if (verb === 'wait') return { do: 'wait', ms: Number(rest) }
  if (verb === 'fail') return { do: 'fail', why: rest as TurnFailure }
  if (verb === 'emit') return { do: 'emit', event: JSON.parse(rest) as TurnEvent }
  if (verb === 'ask' || verb === 'call') {
    const [tool = '', ...json] = rest.split(' ')
    const input = JSON.parse(json.join(' ') || '{}') as Record<string, unknown>
    return { do: verb, tool, input }
  }
  return { do: 'say', text: rest }
}
