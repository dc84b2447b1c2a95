// The vault: what it keeps, what was restored, what is damaged, and how long Claude Code itself keeps sessions.
import type { OutputOf } from '../rpc/client.ts'
import { shortId } from './print-cc.ts'
import { ago, bytes, count, oneLine, pairs, prose, safe, styled, table, wrapped } from './print.ts'
import type { Page, Printers } from './print.ts'

type Retention = OutputOf<'vault.status'>['retention'][number]

export const printers: Printers = {
  'vault.status': printStatus,
  'vault.list': ({ sessions, total, purged }, page) => {
    if (sessions.length === 0) return prose(noneListed(purged, page), page)
    const more = total - sessions.length
    return [
      table(page, sessions, {
        ID: { value: idOf, min: Math.max(...sessions.map((row) => idOf(row).length)), style: 'dim' },
        FILE: {
          value: (row) => (row.gone ? 'kept' : 'there'),
          min: 5,
          style: (row) => (row.gone ? 'yellow' : 'dim'),
        },
        REPO: { value: (row) => row.repoPath.slice(row.repoPath.lastIndexOf('/') + 1) || '-', min: 6 },
        TITLE: { value: (row) => row.title ?? '', min: 12 },
        AGE: { value: (row) => ago(Date.parse(row.lastModified), page.now), align: 'right', min: 5 },
      }),
      ...(more > 0 ? [`… and ${more} more.`] : []),
    ].join('\n')
  },
  'vault.restore': ({ sessions, conflicts, damaged }, page) => {
    if (sessions.length === 0) return 'Nothing to restore: every transcript is there.'
    const files = sessions.flatMap((session) => session.files)
    const restored = files.filter(({ outcome }) => outcome === 'restored').length
    const failed = files.filter(({ outcome }) => outcome === 'different' || outcome === 'damaged')
    const [first] = sessions
    const there = files.length - restored - conflicts - damaged
    const already = there === 0 ? '' : `; ${there} ${there === 1 ? 'was' : 'were'} there already`
    return [
      `Restored ${count(restored, 'file')} of ${count(sessions.length, 'session')}${already}.`,
      ...failed.map(({ path, outcome }) =>
        styled(
          page,
          'red',
          outcome === 'different'
            ? safe`${path} exists with other content and was left as it is. Restore to another folder with --to.`
            : safe`${path}: its copy in the vault is damaged.`,
        ),
      ),
      ...(sessions.length === 1 && failed.length === 0 ? [oneLine(first!.toContinue)] : []),
    ].join('\n')
  },
  'vault.verify': ({ ok, records, bytes: size, damage, files, unfinished, repaired }, page) => {
    const checked = `${count(records, 'record')}, ${bytes(size)}`
    const note = [
      ...(repaired > 0 ? [`Repaired ${count(repaired, 'file')} from the originals.`] : []),
      ...(unfinished > 0 ? [`${count(unfinished, 'interrupted write')}; nothing refers to them.`] : []),
    ]
    if (ok) return [styled(page, 'green', `The vault is undamaged: ${checked}.`), ...note].join('\n')
    return [
      styled(page, 'red', `Damaged: ${count(damage.length, 'place')} in ${checked}.`),
      ...damage.map(({ pack, offset, problem }) => safe`  ${pack} at ${String(offset)}: ${problem}`),
      ...files.map(({ sessionId, path }) => safe`  ${sessionId.slice(0, 8)} needs it: ${path}`),
      ...note,
      'The sessions themselves are not affected. Where they are still there, --repair keeps them again.',
    ].join('\n')
  },
  'vault.prune': ({ applied, sessions, bytes: before, bytesAfter, isShort }, page) => {
    const after = isShort
      ? [prose('All other sessions are younger than a year; --young removes them, too.', page)]
      : []
    if (sessions.length === 0)
      return [`Nothing to remove: the vault has ${bytes(before)}.`, ...after].join('\n')
    const rows = table(page, sessions, {
      ID: { value: (row) => row.sessionId.slice(0, 8), min: 8, style: 'dim' },
      TITLE: { value: (row) => row.title ?? '', min: 12 },
      AGE: { value: (row) => ago(row.lastModified, page.now), align: 'right', min: 5 },
      FREES: { value: (row) => bytes(row.bytes), align: 'right', min: 6 },
    })
    const done = applied ? 'Removed' : 'Would remove'
    return [
      rows,
      `${done} ${count(sessions.length, 'session')}: ${bytes(before)} → ${bytes(bytesAfter)}.`,
      ...(applied ? [] : ['Add --apply to remove them.']),
      ...after,
    ].join('\n')
  },
  'vault.purge': ({ sessions, bytes: size, sharedProblem }, page) =>
    [
      `Removed ${count(sessions.length, 'session')} from the vault, which now has ${bytes(size)}.`,
      ...(sharedProblem === undefined
        ? []
        : [styled(page, 'red', safe`The shared copy still has them and is tried again: ${sharedProblem}`)]),
    ].join('\n'),
  'vault.export': ({ folder, sessions, files, bytes: size, failed }, page) =>
    [
      safe`Wrote ${count(files, 'file')} of ${count(sessions, 'session')} (${bytes(size)}) to ${folder}.`,
      ...failed.map((path) => styled(page, 'red', safe`Not written: ${path}`)),
    ].join('\n'),
  'vault.keep': ({ read, shared, purged }, page) =>
    [
      read === 0
        ? `Everything${purged > 0 ? ' else' : ''} was kept already.`
        : `Kept what changed: read ${bytes(read)}.`,
      ...(purged > 0 ? [prose(purgedText(purged), page)] : []),
      ...(shared ? [`Copied ${bytes(shared)} to the shared vault.`] : []),
    ].join('\n'),
  'vault.retention': ({ retention, change, applied }, page) => {
    const lines = retention.map((one) => printRetention(one, page))
    if (!change) return lines.join('\n')
    const shown = [
      safe`${change.settingsFile}:`,
      ...change.after
        .trimEnd()
        .split('\n')
        .map((line) => `  ${oneLine(line)}`),
    ]
    return applied
      ? [...shown, 'Written. Claude Code reads it at its next start.'].join('\n')
      : [...shown, 'Add --apply to write this file.'].join('\n')
  },
}

function noneListed(purged: number, { input = {} }: Page): string {
  if (input['gone'] === true) return 'Of every session in the vault the transcript is still there.'
  if (purged > 0) return `The vault keeps no session. ${purgedText(purged)}`
  return 'The vault keeps no session yet. `rockpool vault keep` keeps all of them now; if it should have some, `rockpool vault verify` looks for damage.'
}

function purgedText(purged: number): string {
  const [were, them] = purged === 1 ? ['was', 'it'] : ['were', 'them']
  return `${count(purged, 'session')} ${were} purged and ${were} not kept; \`rockpool vault keep --purged\` keeps ${them} again.`
}

function idOf({ agent, sessionId }: OutputOf<'vault.list'>['sessions'][number]): string {
  return shortId({ agentKind: agent, sessionId })
}

function printStatus(status: OutputOf<'vault.status'>, page: Page): string {
  const { enabled, sessions, gone, files, originalBytes, maxBytes, folder, encrypted, retention, shared } =
    status
  const share = originalBytes === 0 ? '' : `, compressed from ${bytes(originalBytes)}`
  return [
    pairs(page, {
      VAULT: enabled ? 'on' : styled(page, 'yellow', 'off (vault.enabled)'),
      SESSIONS: `${sessions} (${gone} deleted by their programs), ${count(files, 'file')}`,
      PURGED:
        status.purged === 0
          ? undefined
          : `${count(status.purged, 'session')}; \`rockpool vault keep --purged\` keeps them again`,
      SIZE: `${bytes(status.bytes)}${share}; at most ${maxBytes / 1e9} GB`,
      DAMAGED:
        status.damagedFiles === 0
          ? undefined
          : {
              text: `${count(status.damagedFiles, 'file')}: rockpool vault verify says what is lost`,
              style: 'red',
            },
      FOLDER: `${oneLine(folder)}${encrypted ? ', encrypted' : ''}`,
      SHARED: shared && printShared(shared),
    }),
    ...retention.map((one) => printRetention(one, page)),
    ...(enabled ? [styled(page, 'dim', 'Turn it off: rockpool config set vault.enabled false')] : []),
  ].join('\n')
}

function printShared({
  address,
  machines,
  problem,
}: NonNullable<OutputOf<'vault.status'>['shared']>): string {
  const each = machines.map(
    ({ machine, bytes: size, isThis }) => `${machine} (${bytes(size)}${isThis ? ', this machine' : ''})`,
  )
  return oneLine(`${address}: ${problem ?? (each.join(', ') || 'nothing yet')}`)
}

function printRetention(
  { configDir, days, isDefault, problem, deletedSoon, keptOfThem }: Retention,
  page: Page,
): string {
  const soon =
    deletedSoon === 0
      ? 'none in the next 7 days'
      : styled(
          page,
          'yellow',
          `${count(deletedSoon, 'session')} in the next 7 days, ${keptOfThem} of them kept`,
        )
  return wrapped(
    [
      safe`Claude Code deletes sessions in ${configDir} after ${days} days${isDefault ? ' (its default)' : ''}:`,
      `${soon}.`,
      ...(problem === undefined ? [] : [styled(page, 'red', oneLine(problem))]),
      ...(deletedSoon > 0 ? ['`rockpool vault retention 365` shows how to keep them longer.'] : []),
    ].join(' '),
    page,
  )
}
