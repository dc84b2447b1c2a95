// Which addresses belong to the public internet. Everything else (this machine, the local network, the cloud's
// metadata service, addresses that wrap another one) is a private network, and a link in a chat must not reach it.
import { BlockList, isIP } from 'node:net'

const privateRanges: ReadonlyArray<readonly [string, number]> = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/** Of IPv6 only what is assigned to the public is public, without the parts that wrap or document other addresses. */
const publicRanges6: ReadonlyArray<readonly [string, number]> = [['2000::', 3]]
const privateRanges6: ReadonlyArray<readonly [string, number]> = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const private4 = listOf(privateRanges, 'ipv4')
const public6 = listOf(publicRanges6, 'ipv6')
const private6 = listOf(privateRanges6, 'ipv6')

/** False also for text that is not an IP address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !private4.check(address, 'ipv4')
  return family === 6 && public6.check(address, 'ipv6') && !private6.check(address, 'ipv6')
}

function listOf(ranges: ReadonlyArray<readonly [string, number]>, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family)
  return list
}
