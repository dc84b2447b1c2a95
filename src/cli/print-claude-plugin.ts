// The plugin in Claude Code: where it is installed, what was changed, and what is missing.
import type { OutputOf } from '../rpc/client.ts'
import { pairs, prose, safe } from './print.ts'
import type { Page, Printers } from './print.ts'

type Report = Omit<OutputOf<'claude-plugin.status'>, 'install' | 'remove'>

export const printers: Printers = {
  'claude-plugin.status': printReport,
  'claude-plugin.install': (output, page) =>
    printChange(output, page, 'The plugin is installed already.', 'New sessions of Claude Code load it.'),
  'claude-plugin.remove': (output, page) =>
    printChange(output, page, 'The plugin is not installed.', 'Running sessions keep it until they end.'),
}

function printChange(
  output: OutputOf<'claude-plugin.install'>,
  page: Page,
  unchanged: string,
  next: string,
): string {
  const { changes } = output
  const lines = changes.length > 0 ? [...changes, next] : [unchanged]
  return [...lines.map((line) => prose(line, page)), ...problems(output, page)].join('\n')
}

function printReport(output: Report, page: Page): string {
  const { homes, claudeVersion } = output
  const facts = pairs(page, {
    'Claude Code': claudeVersion ?? 'not found',
    ...Object.fromEntries(
      homes.map(({ configDir, state, version }) => [
        configDir,
        safe`${state}${version === undefined ? '' : ` (${version})`}`,
      ]),
    ),
  })
  return [facts, ...problems(output, page)].join('\n')
}

function problems({ missing }: Pick<Report, 'missing'>, page: Page): string[] {
  return missing.map((line) => prose(safe`! ${line}`, page))
}
