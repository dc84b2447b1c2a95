# Read by the other scripts. Sets `state`, Rockpool's state directory, and defines `report`, which sends the event on stdin to the
# gateway and prints the answer. Without a gateway it prints nothing, and takes no time.
[ -r "${0%/*}/../installed.sh" ] && . "${0%/*}/../installed.sh"
state="${rockpool_state:-${ROCKPOOL_STATE_DIR:-$HOME/.rockpool}}"

report() {
  # Rockpool knows what the sessions do that it runs itself.
  [ -n "${ROCKPOOL_PROCESS_OF:-}" ] && return
  conf="$state/claude-hooks.conf"
  [ -r "$conf" ] && [ -O "$conf" ] || return
  read -r _ _ pid < "$conf"
  # Another program may have the port of a gateway that died. A proxy would read the event and the token.
  kill -0 "$pid" 2>/dev/null || return
  curl --noproxy '*' --silent --max-time 2 --config "$conf" --header "claude-entrypoint: ${CLAUDE_CODE_ENTRYPOINT:-}" \
    --header "claude-pid: ${CLAUDE_PID:-}" \
    --data-binary @- 2>/dev/null
}
