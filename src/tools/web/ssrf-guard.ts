import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { accessDeniedError } from '../tool-errors.ts'

/*
 * Which machines on the network may be asked. Names are resolved here, every address they have is judged, and the
 * connection is made to the address that was judged: a name that resolves to something else a moment later gains nothing.
 */

/** Everything that is not the public internet: this machine, its neighbours, its provider's inside, and reserved space. */
const NON_PUBLIC_IPV4 = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  NON_PUBLIC_IPV4.addSubnet(network, bits, 'ipv4')
}

/** Of IPv6 only what is handed out to the public is public at all. */
const GLOBAL_UNICAST_IPV6 = new BlockList()
GLOBAL_UNICAST_IPV6.addSubnet('2000::', 3, 'ipv6')
const NON_PUBLIC_IPV6 = new BlockList()
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const) {
  NON_PUBLIC_IPV6.addSubnet(network, bits, 'ipv6')
}

export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !NON_PUBLIC_IPV4.check(address, 'ipv4')
  if (family === 6 && !address.includes('%')) {
    return GLOBAL_UNICAST_IPV6.check(address, 'ipv6') && !NON_PUBLIC_IPV6.check(address, 'ipv6')
  }
  return false
}

export interface ResolvedAddress {
  address: string
  family: 4 | 6
}

export interface AddressPolicy {
  resolve(host: string): Promise<readonly ResolvedAddress[]>
  isAllowed(address: string, port: number): boolean
}

export const PUBLIC_ADDRESSES: AddressPolicy = {
  async resolve(host) {
    const found = await lookup(host, { all: true, verbatim: true })
    return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
  },
  isAllowed: (address) => isPublicAddress(address),
}

/** The address to connect to for a host, or a refusal. One bad address spoils the name. */
export async function resolveAllowedAddress(book: AddressPolicy, host: string, port: number): Promise<ResolvedAddress> {
  const bare = host.replace(/^\[|\]$/g, '')
  const family = isIP(bare)
  const found = family === 0 ? await book.resolve(bare) : [{ address: bare, family: family === 6 ? 6 : 4 } as const]
  const [first] = found
  if (!first) throw accessDeniedError(`'${host}' has no address`)
  const bad = found.find(({ address }) => !book.isAllowed(address, port))
  if (bad) throw accessDeniedError(`'${host}' is not on the public internet`, 'only public addresses can be fetched')
  return first
}

/** Whether a host is among those that were allowed: by name, as `*.name` for all below it, or `*` for all. */
export function isHostAllowed(hosts: readonly string[], host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  return hosts.some((pattern) => {
    const wanted = pattern.toLowerCase()
    if (wanted === '*') return true
    return wanted.startsWith('*.') ? name.endsWith(wanted.slice(1)) : name === wanted
  })
}
