// Settings of OpenClaw's that we keep, so that it finds them again, and that change nothing here: commands run as
// Claude Code's own rules and `permissionMode` say, replies are text, and there is one log-in. Whoever looks is told.

const names = /^(?:exec(?:Host|Security|Ask|Node)|elevatedLevel|ttsAuto|authProfileOverride\w*)$/

/** Which fields of a row, or of a change to it, have no effect. */
export function withoutEffect(fields: Readonly<Record<string, unknown>>): string[] {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)
  return set.map(([name]) => name).filter((name) => names.test(name))
}
