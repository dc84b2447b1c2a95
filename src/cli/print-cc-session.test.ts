import { expect, test } from 'vitest'
import type { Card } from '../domain/transcript-views.ts'
import { findPrinter } from './printers.ts'

const printCards = await findPrinter('cc.read')
const printAnatomy = await findPrinter('cc.anatomy')
const printArchived = await findPrinter('cc.archive')
const printSelection = await findPrinter('cc.select')
const printLaunched = await findPrinter('coding.resume')

const at = Date.parse('2026-11-15T19:50:01Z')
const page = { width: 60, color: false, now: at + 60_000, interactive: true }
const sessionId = '00000002-0000-4000-8000-00000000000a'

test('a session is read as a conversation: who, when, which tool; long results are cut and it is said', () => {
  const cards: Card[] = [
    { kind: 'prompt', at, text: 'Fix the sum\u001b[2J helper' },
    { kind: 'tool', at, text: '', tool: { name: 'Bash', input: { command: 'npm test' } } },
    { kind: 'result', at, text: 'line\n'.repeat(20), isError: true },
    { kind: 'text', at: 0, text: 'Done.' },
  ]
  const when = new Date('2026-11-15T19:50:01Z').toLocaleString('sv-SE')
  const text = printCards({ sessionId, cards, before: 28252 }, page)
  expect(text.split('\n').slice(0, 5)).toEqual([
    '… more before this: rockpool cc read 00000002 --before 28252',
    `${when} user`,
    '  Fix the sum\\x1b[2J helper',
    `${when} 🔧 Bash: npm test`,
    `${when} result (failed)`,
  ])
  expect(text).toMatch(/ {2}… 8 more lines\n- assistant\n {2}Done\.$/)
  expect(printCards({ sessionId, cards, kept: true }, { ...page, width: 120 })).toMatch(
    /Done\.\nDeleted by its program, kept in the vault\. Restore it: rockpool vault restore 00000002$/,
  )
  const other = printCards({ sessionId: 'ses_e1b2e934effe', cards, kept: true }, { ...page, width: 120 })
  expect(other).toMatch(/rockpool vault restore ses_e1b2e934effe$/)
})

test('commands of Claude Code and their output are not shown as words of the person', () => {
  const cards: Card[] = [
    {
      kind: 'prompt',
      at,
      text: '<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args>keep it</command-args>',
    },
    {
      kind: 'prompt',
      at,
      text: '<local-command-stdout>\u001b[2mCompacted \u001b[22m</local-command-stdout>',
    },
  ]
  const text = printCards({ sessionId, cards }, page)
  expect(text).toMatch(/ command\n {2}\/compact +keep it\n.* command output\n {2}Compacted$/)
})

test('the command after a selection starts in the repository that was asked about, with the same options', () => {
  const chosen = { action: 'fresh' as const, reason: 'fresh', scores: [], relevanceBy: 'keywords' as const }
  const input = { task: 'fix the form', repo: '/home/ada/my shop', agentKind: 'codex', model: true }
  expect(printSelection(chosen, { ...page, width: 300, input })).toContain(
    `Do it: rockpool cc launch "fix the form" --repo '/home/ada/my shop' --agent-kind codex`,
  )
})

test('after a launch the advice quotes a name that the shell would not read as one word', () => {
  const text = printLaunched({ id: 'MrcvYxCC', name: '`id`', state: 'working' }, page)
  expect(text).toContain(`\`id\` MrcvYxCC working`)
  expect(text).toContain(`Answer: rockpool cc respond '\`id\`' "…"`)
})

test('a launch that has to wait says for which session, and not that somebody asked for a queue', () => {
  const queued = {
    id: 'kmY7SkHg',
    name: 'two',
    state: 'working',
    lifecycle: 'queued',
    queue: { place: 1, waitsFor: ['one'] },
    stateText: 'place 1 in the queue; waits for one',
    action: 'queue',
    reason: 'asked for',
  }
  const text = printLaunched(queued, { ...page, width: 100 })
  expect(text).toContain('\nqueued: place 1 in the queue; waits for one\n')
  expect(text).not.toContain('as you asked')
})

test('a prompt is shown without the tags of Claude Code, and an answer as it is', () => {
  const text = '<command-name>/review</command-name> the <b>form</b>'
  const shown = (kind: 'prompt' | 'text'): string =>
    printCards({ sessionId, cards: [{ kind, at: 0, text }] }, { ...page, width: 120 })
  expect(shown('prompt')).toMatch(/\/review\s+the <b>form<\/b>/)
  expect(shown('prompt')).not.toContain('command-name')
  expect(shown('text')).toContain(text)
})

test('a selection shows what each way to continue costs, and offers the trimmed copy with the command', () => {
  const usd = {
    resumeUsd: 1.83,
    forkUsd: 1.83,
    compactThenResumeUsd: 1.1,
    freshUsd: 0.12,
    furtherCallUsd: 0.1,
  }
  const copy = { level: 'normal' as const, cuts: 41, usd: 0.96, tokens: 90_000 }
  const printed = (offered: boolean): string => {
    const price = { guessed: false, tokens: 180_000, cache: 'cold' as const, sure: 0.97, ...usd }
    const factors = { branch: 0, recency: 0.2, relevance: 0.5, health: 0, capacity: 0 }
    const relevance = { sessionId, relevance: 1, reasoning: '' }
    const score = { sessionId, total: 0.7, factors, relevance, isRunning: false, reason: 'the same files' }
    const scores = [{ ...score, price: { ...price, trimmed: { ...copy, offered } } }]
    const chosen = {
      action: 'resume' as const,
      sessionId,
      reason: 'resume it',
      scores,
      relevanceBy: 'keywords' as const,
    }
    return printSelection(chosen, { ...page, width: 300, input: { task: 'fix the form' } })
  }
  expect(printed(true)).toContain(
    'resume or fork $1.83 (cold, 97 % sure; keeps everything) · trimmed $0.96 (without 41 old results) · compact first $1.10 (keeps a summary) · fresh with a brief $0.12 (keeps the brief)',
  )
  expect(printed(true)).toMatch(/cc launch "fix the form", or in the trimmed copy: --trim$/)
  expect(printed(false)).toMatch(/cc launch "fix the form"$/)
})

test('the anatomy shows what fills the context, what it cost and what continuing costs, and fits a narrow screen', () => {
  const price = {
    guessed: false,
    tokens: 9000,
    cache: 'cold' as const,
    resumeUsd: 0.03,
    forkUsd: 0.03,
    compactThenResumeUsd: 0.15,
    freshUsd: 0.07,
    furtherCallUsd: 0.003,
  }
  const made = {
    context: [
      { kind: 'system' as const, tokens: 6000 },
      { kind: 'prompts' as const, tokens: 3000 },
      { kind: 'summary' as const, tokens: 0 },
    ],
    contextTokens: 9000,
    contextWindow: 200_000,
    calls: [{ at, contextTokens: 9000, outputTokens: 10, costUsd: 0.5 }],
    compactedAt: [],
    files: [{ path: '/code/shop/src/sum.js', reads: 1, writes: 2 }],
    subagents: [],
    partial: false,
    price,
  }
  const text = printAnatomy(made, page)
  expect(text).toContain('$0.50 in 1 call\n')
  expect(text).toMatch(/^system +6\.0k +█+\S*\nprompts +3\.0k +█+/m)
  expect(text).toMatch(/1 +2 +\/code\/shop\/src\/sum\.js/)
  expect(text).not.toMatch(/^summary/m)
  expect(text).toMatch(/compactions +none/)
  const compactedAt = [page.now - 7_200_000, page.now - 3_600_000]
  expect(printAnatomy({ ...made, compactedAt }, page)).toMatch(/compactions +2, the last 1 h ago/)
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(60)
})

test('an archived session is shown with the command that restores it', () => {
  expect(printArchived({ sessionId, archived: true }, { ...page, interactive: false })).toContain(
    '`rockpool cc archive 00000002 --restore`',
  )
})
