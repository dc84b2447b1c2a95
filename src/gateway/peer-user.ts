// Which user of this machine has opened a connection over loopback. A login code stands in the command line of the browser that opens
// it, which every user of the machine can read, so a code counts only for the user of the gateway. Linux lists the owners of
// connections; where that is unknown, the code alone counts.
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { attempt } from '../domain/errors.ts'

const tables = ['/proc/net/tcp', '/proc/net/tcp6']
/** An address of loopback as these tables write it: 127.x.x.x, ::1, or 127.x.x.x within IPv6. */
const loopback = /^(?:.{6}7F|0{24}01000000|0{16}FFFF0000.{6}7F)$/

/** The user of the gateway, and root, which also runs what forwards ports to this machine. */
export function isOwnUser(socket: Socket): boolean {
  const users = usersOf(socket)
  return users.every((user) => user === process.getuid?.() || user === 0)
}

/** Empty where it is unknown, and for another machine. */
function usersOf({ remotePort, localPort }: Socket): number[] {
  return tables.flatMap((table) =>
    attempt(() => readFileSync(table, 'utf8'), '')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      // The side of the peer: its own port comes first.
      .filter(([, own, other]) => isAt(own, remotePort) && isAt(other, localPort))
      .map((columns) => Number(columns[7])),
  )
}

function isAt(place: string | undefined, port: number | undefined): boolean {
  const [address = '', hex = ''] = place?.split(':') ?? []
  return loopback.test(address) && Number.parseInt(hex, 16) === port
}
