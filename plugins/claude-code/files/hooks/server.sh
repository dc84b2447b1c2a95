# Starts the server of the plugin with the Node that Rockpool was installed with, or any other.
[ -r "${0%/*}/../installed.sh" ] && . "${0%/*}/../installed.sh"
[ -x "${rockpool_node:-}" ] || rockpool_node=node
export ROCKPOOL_STATE_DIR="${rockpool_state:-${ROCKPOOL_STATE_DIR:-$HOME/.rockpool}}"
exec "$rockpool_node" "${0%/*}/../server.mjs"
