// Data that stays current: loaded once, and again when an event changes it or events were missed.
import { createContext } from 'preact'
import type { JSX } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { InputOf, MethodName, OutputOf } from '../../src/rpc/client.ts'
import type { Gateway, RockpoolEvent } from './gateway.ts'

export const GatewayContext = createContext<Gateway | undefined>(undefined)

export function useGateway(): Gateway {
  const gateway = useContext(GatewayContext)
  if (!gateway) throw new Error('The page is not connected.')
  return gateway
}

export interface Live<Output> {
  data: Output | undefined
  error: string | undefined
  reload: () => void
}

const settleMs = 80

/** `wants`: true for events that make the answer stale. */
export function useLive<Name extends MethodName>(
  method: Name,
  params: InputOf<Name>,
  wants: (event: RockpoolEvent) => boolean = () => false,
  /** How long events are collected before the next request; longer for expensive requests. */
  gatherMs = settleMs,
): Live<OutputOf<Name>> {
  const gateway = useGateway()
  type State = { data?: OutputOf<Name>; error?: string }
  const [state, setState] = useState<State>({})
  const asked = JSON.stringify([method, params])
  const timer = useRef<number>(undefined)
  const order = useRef({ asked: 0, shown: 0 })
  const isAnswered = useRef(false)
  const ask = useCallback(() => {
    const mine = ++order.current.asked
    // Answers may arrive in another order; the answer to the latest request wins.
    const show = (next: (before: State) => State): void => {
      if (mine < order.current.shown) return
      order.current.shown = mine
      isAnswered.current = true
      setState(next)
    }
    gateway
      .call(method, params)
      .then((data) => show(() => ({ data })))
      .catch((error: unknown) => show((before) => ({ ...before, error: messageOf(error) })))
  }, [gateway, asked])
  /** Several events cause one request, which is sent even if more events follow. */
  const soon = useCallback(() => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined
      ask()
    }, gatherMs)
  }, [ask])
  useEffect(() => {
    order.current.shown = order.current.asked + 1
    isAnswered.current = false
    setState({})
    ask()
    return () => {
      clearTimeout(timer.current)
      timer.current = undefined
    }
  }, [ask])
  useEffect(() => {
    // The client subscribes before it sends a request, so the first answer misses no event: it is not requested twice.
    const again = (): void => {
      if (isAnswered.current) soon()
    }
    const listener = { event: (event: RockpoolEvent) => wants(event) && soon(), gap: again }
    const stops = ['sessions', 'coding', 'system'].map((topic) => gateway.listen(topic, {}, listener))
    stops.push(gateway.onConnected(again))
    return () => {
      for (const stop of stops) stop()
    }
  }, [gateway, soon])
  return { data: state.data, error: state.error, reload: ask }
}

/** Matches events that this session, or one of its sub-agents, wrote something. */
export function wrote(sessionId: string): (event: RockpoolEvent) => boolean {
  return (event) => event.type === 'native-changed' && event.sessionId === sessionId && event.why === 'file'
}

export interface Action {
  /** Undefined if it failed; `error` then has the reason. */
  run: <Name extends MethodName>(method: Name, params: InputOf<Name>) => Promise<OutputOf<Name> | undefined>
  busy: boolean
  error: string | undefined
}

/** An action of the person, with its progress and its error. */
export function useAction(): Action {
  const gateway = useGateway()
  const [state, setState] = useState<{ busy: boolean; error?: string }>({ busy: false })
  const run: Action['run'] = async (method, params) => {
    setState({ busy: true })
    try {
      const output = await gateway.call(method, params)
      setState({ busy: false })
      return output
    } catch (error) {
      setState({ busy: false, error: messageOf(error) })
      return undefined
    }
  }
  return { run, busy: state.busy, error: state.error }
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : ''
  return hint === '' || isForTerminal(hint) ? error.message : `${error.message} ${hint}`
}

/** Names an option of a command, outside of a whole command that a person could copy. */
function isForTerminal(hint: string): boolean {
  return /(^|\s)--\w/.test(hint.replaceAll(/`[^`]*`/g, ''))
}

/** A part of the page that is loaded when it is first shown. */
export function useLazy<Props>(
  load: () => Promise<{ default: (props: Props) => JSX.Element }>,
): ((props: Props) => JSX.Element) | undefined {
  const [part, setPart] = useState<{ default: (props: Props) => JSX.Element }>()
  useEffect(() => {
    void load().then(setPart)
  }, [])
  return part?.default
}
