// A transcript is whatever somebody has written into a file: what is no message hides none of those that are.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { promptAfterAnswer } from '../coding/approvals/read-answer.ts'
import type { Approval } from '../domain/coding-session.ts'
import { anatomyOf } from './anatomy.ts'
import { cardsOf, markRewound } from './cards.ts'
import { TranscriptScanner } from './transcript-scanner.ts'

const said = (type: string, content: unknown, more: object = {}): string =>
  JSON.stringify({ type, timestamp: '2026-11-01T10:00:00Z', message: { role: type, content, ...more } })

test('a record that is too long to be read leaves a notice in its place', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-cards-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'long.jsonl')
  const lines = [said('user', 'hello'), said('assistant', 'x'.repeat(12 << 20)), said('user', 'goodbye')]
  writeFileSync(path, `${lines.join('\n')}\n`)
  const notice = { kind: 'notice', at: 0, text: 'A record of 12 MB is too long to be shown.' }
  const expected = [
    expect.objectContaining({ text: 'hello' }),
    notice,
    expect.objectContaining({ text: 'goodbye' }),
  ]
  expect((await cardsOf(path, { limit: 50 })).cards).toEqual(expected)
  expect((await cardsOf(path, { limit: 50, after: 0 })).cards).toEqual(expected)
})

test('a command and its output are notices; a prompt is what the count of prompts has', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-cards-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'commands.jsonl')
  const command = '<command-name>/compact</command-name>\n<command-message>compact</command-message>'
  const lines = [
    said('user', '[openclaw:agent=main] Small warm-up question'),
    said('user', `${command}\n<command-args>keep the plan</command-args>`),
    said('user', '<local-command-stdout>\u001b[2mCompacted\u001b[22m</local-command-stdout>'),
    said('user', '<local-command-stdout></local-command-stdout>'),
    said('user', '[Request interrupted by user]'),
    said('user', '<bash-input>ls</bash-input>'),
  ]
  writeFileSync(path, `${lines.join('\n')}\n`)
  const { cards } = await cardsOf(path, { limit: 50 })
  expect(cards.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
    'prompt: Small warm-up question',
    'notice: /compact keep the plan',
    'notice: Compacted',
    'notice: [Request interrupted by user]',
    'prompt: ! ls',
  ])
})

test('a message that joined a turn is a prompt at its place; notifications, other agents and repetitions are not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-cards-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'joined.jsonl')
  const joined = (prompt: unknown, more: object = {}): string =>
    JSON.stringify({
      attachment: { type: 'queued_command', prompt, source_uuid: 'sent', commandMode: 'prompt', ...more },
      type: 'attachment',
      uuid: 'u',
      timestamp: '2026-11-01T10:00:00Z',
    })
  const lines = [
    said('user', 'Fix the login'),
    joined('and the logout'),
    joined(
      [
        { type: 'text', text: 'with a picture' },
        { type: 'image', source: {} },
      ],
      { origin: { kind: 'human' } },
    ),
    joined('<task-notification>over</task-notification>', { commandMode: 'task-notification' }),
    joined('a report', { origin: { kind: 'peer' } }),
    joined('a note', { isMeta: true }),
    joined('and the logout', { carriedByCompaction: true }),
    joined(undefined),
    said('assistant', 'Done'),
  ]
  writeFileSync(path, `${lines.join('\n')}\n`)
  const { cards } = await cardsOf(path, { limit: 50 })
  expect(cards.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
    'prompt: Fix the login',
    'prompt: and the logout',
    'prompt: with a picture',
    'text: Done',
  ])
  expect(cards[1]).toMatchObject({ uuid: 'u', at: Date.parse('2026-11-01T10:00:00Z') })
  const { facts } = new TranscriptScanner().scan(path)
  expect(facts).toMatchObject({ promptCount: 3, messageCount: 2, lastPrompt: 'with a picture' })
})

test('a message that joined a turn is not rewound while Claude has not answered', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-cards-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'unanswered.jsonl')
  const attached = (uuid: string, parentUuid: string, attachment: object): object => ({
    type: 'attachment',
    uuid,
    parentUuid,
    timestamp: '2026-11-01T10:00:00Z',
    attachment,
  })
  const asked = (uuid: string, parentUuid: string | null, content: string): object => ({
    type: 'user',
    uuid,
    parentUuid,
    timestamp: '2026-11-01T10:00:00Z',
    message: { role: 'user', content },
  })
  const records = [
    asked('a', null, 'Fix the login'),
    asked('b', 'a', 'rewound'),
    attached('c', 'b', { type: 'queued_command', prompt: 'rewound too' }),
    asked('d', 'a', 'Fix the logout'),
    attached('e', 'd', { type: 'date' }),
    attached('f', 'e', { type: 'queued_command', prompt: 'and the menu' }),
  ]
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  const { cards } = await markRewound(path, await cardsOf(path, { limit: 50 }))
  expect(cards.filter(({ isRewound }) => isRewound).map(({ text }) => text)).toEqual([
    'rewound',
    'rewound too',
  ])
  expect(cards).toHaveLength(5)
})

test('messages and blocks that are none are passed over, and the others shown and weighed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-cards-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'odd.jsonl')
  const usage = { input_tokens: 'many', output_tokens: -5, cache_read_input_tokens: 1e308 }
  const lines = [
    said('user', 'hello'),
    'null',
    '[]',
    '"x"',
    '{"type":"user","message":null}',
    '{"type":"assistant","message":5}',
    said('assistant', [null, 5, 'x', { type: 'text' }, { type: 'tool_use', input: 'text' }], {
      id: 'm',
      usage,
    }),
    said('user', [{ type: 'tool_result', content: [null, { type: 'text', text: 'found' }] }]),
    said('assistant', [{ type: 'text', text: 'goodbye' }], { id: 'n', usage: null }),
  ]
  writeFileSync(path, `${lines.join('\n')}\n`)
  const { cards } = await cardsOf(path, { limit: 50 })
  expect(cards.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'prompt hello',
    'tool ',
    'result found',
    'text goodbye',
  ])
  expect(await cardsOf(path, { limit: 50, before: 2 ** 40 })).toEqual({ cards })
  const anatomy = await anatomyOf(path, 1_000)
  expect(anatomy.calls).toMatchObject([{ contextTokens: 0, outputTokens: 0, costUsd: 0 }])
  expect(anatomy.context.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['prompts', 'answers']))
})

test('the anatomy charges the cache for an hour at its own price, as the list does', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-cards-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'hour.jsonl')
  const cached = (created: object) => ({
    model: 'claude-sonnet-4-5-20250929',
    usage: { cache_creation_input_tokens: 100_000, cache_creation: created },
  })
  const lines = [
    said('assistant', 'x', { id: 'a', ...cached({ ephemeral_5m_input_tokens: 100_000 }) }),
    said('assistant', 'y', { id: 'b', ...cached({ ephemeral_1h_input_tokens: 100_000 }) }),
  ]
  writeFileSync(path, `${lines.join('\n')}\n`)
  const { calls } = await anatomyOf(path, 1_000)
  expect(calls.map(({ costUsd }) => costUsd)).toEqual([0.375, 0.975])
})

test('what Rockpool tells a session after a restart is a notice, not a prompt of the person', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-cards-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'restarted.jsonl')
  const input = { command: 'npm publish' }
  const asked = { id: 'a1', agentId: 'main', inputHash: '', shown: 'npm publish', askedAt: 1, input }
  const approval: Approval = { ...asked, kind: 'tool', toolName: 'Bash', state: 'allowed' }
  const lines = [
    said('user', 'Publish it'),
    said('user', promptAfterAnswer(approval)),
    said('user', promptAfterAnswer({ ...approval, kind: 'plan' })),
  ]
  writeFileSync(path, `${lines.join('\n')}\n`)
  const { cards } = await cardsOf(path, { limit: 50 })
  expect(cards.map(({ kind }) => kind)).toEqual(['prompt', 'notice', 'notice'])
})

test('what a hook or a task put into the conversation is a notice, not a prompt of the person', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-cards-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'woken.jsonl')
  const woken = { ...JSON.parse(said('user', '> mail')), origin: { kind: 'task-notification' } } as object
  writeFileSync(path, `${said('user', 'hello')}\n${JSON.stringify(woken)}\n`)
  const { cards } = await cardsOf(path, { limit: 50 })
  expect(cards.map(({ kind, text }) => `${kind} ${text}`)).toEqual(['prompt hello', 'notice > mail'])
})
