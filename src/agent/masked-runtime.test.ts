import { expect, test } from 'vitest'
import { systemClock } from '../domain/clock.ts'
import { makeRedactor } from '../domain/redact.ts'
import type { TurnEvent } from '../domain/turn.ts'
import { maskRuntime } from './masked-runtime.ts'
import { makeOfflineAgent } from './offline.ts'

const secret = 'bot-secret-0123456789'

test('a known secret is masked in prompts and answers, also when it arrives in pieces', async () => {
  const redactor = makeRedactor()
  redactor.know('telegram-token', secret)
  const offline = makeOfflineAgent({ clock: systemClock })
  const prompts: string[] = []
  const runtime = maskRuntime(
    {
      ...offline,
      open: async (options) => {
        const conversation = await offline.open(options)
        return {
          ...conversation,
          turn: async (prompt, onEvent) => {
            prompts.push(prompt.text)
            for (const text of ['The token is bot-sec', 'ret-01234', '56789, and bot-s is none'])
              onEvent({ type: 'text-delta', text })
            const said = `The token is ${secret}, and bot-s is none`
            onEvent({ type: 'text', text: said })
            return { ...(await conversation.turn(prompt, () => {})), text: said, said: [said] }
          },
        }
      },
    },
    redactor,
  )
  const conversation = await runtime.open({
    key: 'k',
    agent: { id: 'main' },
    cwd: '/',
    permissionMode: 'default',
    allowedTools: [],
    tools: [],
    askPermission: async () => ({ behavior: 'deny', message: 'no' }),
  } as never)
  const events: TurnEvent[] = []
  const prompt = { text: `https://example.org/${secret}/send failed`, uuid: 'u' }
  const result = await conversation.turn(prompt, (event) => events.push(event))
  const clean = 'The token is [redacted:telegram-token], and bot-s is none'
  expect(prompts).toEqual(['https://example.org/[redacted:telegram-token]/send failed'])
  expect(result.text).toBe(clean)
  expect(events.at(-1)).toEqual({ type: 'text', text: clean })
  const deltas = events.flatMap((event) => (event.type === 'text-delta' ? event.text : []))
  expect(deltas.join('')).toBe(clean)
  await runtime.close()
})
