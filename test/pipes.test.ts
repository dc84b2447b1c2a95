// A pipe in place of a file that others write must not freeze us: opening one waits until somebody writes into it.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('a pipe in any place where others write is refused or passed over, never waited for', async () => {
  const reader = join(import.meta.dirname, 'support/pipe-process.ts')
  const said = await new Promise<string>((resolve) => {
    // What freezes says nothing more, so the last line names the place that it waits at.
    execFile(process.execPath, [reader], { timeout: 60_000, killSignal: 'SIGKILL' }, (_error, out, err) =>
      resolve(out + err),
    )
  })
  expect(said.trimEnd().split('\n').at(-1)).toBe('done')
}, 90_000)
