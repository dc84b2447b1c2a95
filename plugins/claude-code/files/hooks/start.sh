# SessionStart: reports the session. The answer tells Claude Code to watch the file that wakes the session; without a gateway
# this script says so itself, so that a gateway that starts later can wake it.
. "${0%/*}/gateway.sh"
answer=$(report)
if [ -n "$answer" ]; then
  printf '%s' "$answer"
  exit 0
fi
file="$state/claude/wake/${CLAUDE_CODE_SESSION_ID:-}"
case "$file" in *[\"\\]* | */) exit 0 ;; esac
[ -d "$state" ] && mkdir -p -m 700 "${file%/*}" &&
  printf '{"suppressOutput":true,"hookSpecificOutput":{"hookEventName":"SessionStart","watchPaths":["%s"]}}' "$file"
exit 0
