// Which user of this machine has opened a connection. A login code stands in the command line of the browser that opens it, which every
// user of the machine can read, so a code counts only for the user of the gateway. Linux lists the owners of connections; where
// that is unknown, the code alone counts.
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { attempt } from '../domain/errors.ts'

const tables = ['/proc/net/tcp', '/proc/net/tcp6']

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
      // The side of the peer: its own port comes first. Addresses are not compared: a program can connect from any address of this
      // machine and to any that the gateway listens on, and a row that is missed would open the page.
      .filter(([, own, other]) => isPort(own, remotePort) && isPort(other, localPort))
      .map((columns) => Number(columns[7])),
  )
}

function isPort(place: string | undefined, port: number | undefined): boolean {
  return port !== undefined && Number.parseInt(place?.split(':')[1] ?? '', 16) === port
}
