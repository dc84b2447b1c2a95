// What each program prints while it works, recorded from the real ones, becomes our events; and the commands give no program more
// than its session may have.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { permissionModes, type OtherAgent, type PermissionMode } from '../../domain/agent.ts'
import { parseRecord } from '../../domain/json.ts'
import type { ProgramItem } from './program.ts'
import { whyFailed } from './program-turn.ts'
import { checkProgramOptions, findProgram, noticeOf, programOf } from './programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'programs-'))
afterAll(() => rmSync(folder, { recursive: true }))

const recorded = join(import.meta.dirname, '../../../test/fixtures/agents/events')

function itemsOf(kind: OtherAgent, name: string): ProgramItem[] {
  const reader = programOf(kind).makeReader()
  const lines = readFileSync(join(recorded, `${kind}-${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return lines.flatMap((line) => reader.read(parseRecord(line)!))
}

/** Tools by name, texts word for word, and the end. */
function told(items: ProgramItem[]): string[] {
  return items.flatMap((item) => {
    if (item.is === 'completed') return ['completed']
    if (item.is === 'failed') return [`failed: ${item.message}`]
    if (item.is !== 'event') return []
    const { event } = item
    if (event.type === 'tool-start') return [`${event.name}…`]
    if (event.type === 'tool-end') return [event.isError ? 'failed' : 'done']
    return event.type === 'text' || event.type === 'thinking' ? [event.text] : []
  })
}

function usageOf(items: ProgramItem[]) {
  return items.flatMap((item) => (item.is === 'call' ? [item.event] : []))
}

const answer = 'Added greet.js and mentioned it in the README.'

describe('what the programs print', () => {
  test('Codex: commands, patches, thoughts and the answer', () => {
    const items = itemsOf('codex', '03-tools')
    expect(items[0]).toEqual({ is: 'session', sessionId: '01a1e4c8-ef42-70d2-bd42-fae609cc165c' })
    expect(told(items)).toEqual([
      'Look first.',
      'command…',
      'done',
      'apply_patch…',
      'done',
      'command…',
      'failed',
      answer,
      'completed',
    ])
  })

  test('Codex: an answer that was cut off is shown once, and the retry and the failure are reported', () => {
    const items = itemsOf('codex', '07-midstream')
    expect(told(items)).toEqual([
      'Half an answ',
      'failed: stream disconnected before completion: stub failed mid stream',
    ])
    expect(items).toContainEqual({
      is: 'event',
      event: expect.objectContaining({ type: 'retry', attempt: 1 }) as object,
    })
    const [failed] = itemsOf('codex', '06-limit').slice(-1)
    expect(failed).toMatchObject({ is: 'failed' })
    expect(whyFailed((failed as { message: string }).message)).toBe('rate-limited')
  })

  test('Gemini CLI: tools, the answer as one text, and thoughts counted as output', () => {
    const items = itemsOf('gemini', '03-tools')
    const tools = ['run_shell_command…', 'write_file…', 'replace…', 'run_shell_command…']
    expect(told(items)).toEqual([...tools.flatMap((tool) => [tool, 'done']), answer, 'completed'])
    expect(items[0]).toMatchObject({ is: 'session', model: 'gemini-2.5-pro' })
    expect(usageOf(items).map(({ usage }) => usage)).toEqual([
      { input: 1928, cacheRead: 9472, cacheWrite: 0, output: 254 },
    ])
    expect(told(itemsOf('gemini', '04-error')).at(-1)).toContain('failed: [API Error')
  })

  test('opencode: the session, the text, and its own cost', () => {
    const items = itemsOf('opencode', '01-plain')
    expect(items[0]).toEqual({ is: 'session', sessionId: 'ses_e1b2f9c48ffeys0Yy1PGLdbiBX' })
    expect(told(items)).toEqual(['Hello from the stub.', 'completed'])
    expect(usageOf(items)).toEqual([
      expect.objectContaining({
        costUsd: 0.00342,
        usage: { input: 700, output: 9, cacheRead: 200, cacheWrite: 300 },
      }),
    ])
  })

  test('pi: tools, texts, each call with its cost, and whether another call follows', () => {
    const items = itemsOf('pi', '03-tools')
    expect(told(items).filter((text) => text !== 'completed')).toEqual([
      'Look first.',
      'bash…',
      'done',
      'write…',
      'done',
      'read…',
      'done',
      'edit…',
      'done',
      'bash…',
      'failed',
      answer,
    ])
    const calls = items.filter((item) => item.is === 'call')
    expect(calls.map(({ continues }) => continues)).toEqual([true, true, true, true, true, false])
    expect(calls[0]!.event.costUsd).toBeCloseTo(0.0041352)
  })

  test('pi exits with 0 after a failure; the last call decides', () => {
    expect(told(itemsOf('pi', '04-error')).at(-1)).toContain('failed: 400')
    expect(told(itemsOf('pi', '05-retry')).at(-1)).toBe('completed')
  })

  test.each(['codex', 'gemini', 'opencode', 'pi'] as const)(
    '%s: unknown and hostile lines say nothing',
    (kind) => {
      const reader = programOf(kind).makeReader()
      const lines = [{}, { type: 'new.event' }, { type: 7 }, { type: 'item.completed', item: [1] }]
      for (const line of [...lines, { type: 'message_end', message: null }])
        expect(reader.read(line)).toEqual([])
    },
  )
})

describe('what a program may do', () => {
  const turn = (permissionMode: PermissionMode, allowedTools: string[] = []) => ({
    cwd: '/repo',
    permissionMode,
    allowedTools,
    folder,
  })
  const modes = permissionModes.filter((mode) => mode !== 'bypassPermissions')

  test.each(['codex', 'gemini', 'opencode', 'pi'] as const)(
    '%s is never run without its protection',
    (kind) => {
      const program = programOf(kind)
      for (const mode of modes) {
        const { args, variables } = program.commandFor(turn(mode))
        expect([...args, ...Object.values(variables ?? {})].join(' ')).not.toMatch(
          /danger|bypass|yolo|full-auto/i,
        )
      }
      const options = { permissionMode: 'bypassPermissions' as const, allowedTools: [] }
      expect(() => checkProgramOptions(program, options)).toThrow(/not run without its own protection/)
    },
  )

  test('only `acceptEdits` lets it change files: it cannot ask', () => {
    const said = (kind: OtherAgent, mode: PermissionMode): string => {
      const { args, variables } = programOf(kind).commandFor(turn(mode))
      return [...args, variables?.['OPENCODE_PERMISSION'] ?? ''].join(' ')
    }
    const edits: Record<OtherAgent, string> = {
      codex: '--sandbox workspace-write',
      gemini: '--approval-mode auto_edit',
      opencode: '"edit":"allow"',
      pi: 'edit,write',
    }
    for (const [kind, text] of Object.entries(edits) as Array<[OtherAgent, string]>)
      for (const mode of modes)
        expect(said(kind, mode).includes(text), `${kind} ${mode}`).toBe(mode === 'acceptEdits')
  })

  test('commands need to be allowed by name where there is no sandbox', () => {
    const tools = (allowed: string[]): string =>
      programOf('pi').commandFor(turn('acceptEdits', allowed)).args.join(' ')
    expect(tools([])).not.toContain('bash')
    expect(tools(['bash'])).toContain('ls,edit,write,bash')
    const permissions = programOf('opencode').commandFor(turn('default', ['bash'])).variables!
    expect(permissions['OPENCODE_PERMISSION']).toContain('"bash":"allow"')
  })

  test('what a program cannot do is refused, not ignored', () => {
    const options = { permissionMode: 'default' as const, allowedTools: [] }
    expect(() => checkProgramOptions(programOf('codex'), { ...options, allowedTools: ['Bash'] })).toThrow(
      /no tool "Bash"/,
    )
    expect(() => checkProgramOptions(programOf('codex'), { ...options, thinking: 'off' })).toThrow(
      /no thinking level "off"/,
    )
    expect(() => checkProgramOptions(programOf('gemini'), { ...options, fork: true })).toThrow(/cannot fork/)
    expect(() => checkProgramOptions(programOf('opencode'), { ...options, systemPrompt: 'x' })).toThrow(
      /system prompt/,
    )
    expect(() =>
      checkProgramOptions(programOf('pi'), { ...options, fork: true, thinking: 'max', systemPrompt: 'x' }),
    ).not.toThrow()
    expect(noticeOf(programOf('codex'), 'default')).toMatch(/^Codex cannot ask here: it reads files/)
  })

  test('a program that is not installed is named, with what to do', () => {
    const nowhere = { variables: { PATH: `${folder}:relative` } }
    expect(() => findProgram(programOf('codex'), {}, nowhere)).toThrow(/Codex is not installed/)
    expect(() => findProgram(programOf('codex'), { path: '/nowhere/codex' }, nowhere)).toThrow(
      /coding\.programs\.codex\.path is \/nowhere\/codex/,
    )
    const file = join(folder, 'codex')
    writeFileSync(file, '#!/bin/sh\n')
    chmodSync(file, 0o755)
    expect(findProgram(programOf('codex'), {}, nowhere)).toBe(file)
  })
})
