# FileChanged: asks the gateway what there is to say. Exit code 2 wakes the session with the text on stderr.
. "${0%/*}/gateway.sh"
text=$(report)
[ -n "$text" ] || exit 0
printf '%s\n' "$text" >&2
exit 2
