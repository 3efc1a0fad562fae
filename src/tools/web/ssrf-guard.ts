import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { accessDeniedError } from '../tool-errors.ts'

/*
 * SSRF protection. Host names are resolved here and every address is checked. Prevents DNS rebinding: callers connect to
 * the vetted address and never resolve the name again.
 */

/** Loopback, private, link-local (cloud metadata at 169.254.169.254), carrier-grade NAT, multicast and reserved ranges. */
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

/** IPv6: only global unicast (2000::/3) can be public. Excludes IPv4-mapped addresses, which would bypass the list above. */
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
    const addresses = await lookup(host, { all: true, verbatim: true })
    return addresses.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
  },
  isAllowed: (address) => isPublicAddress(address),
}

/** Resolves a host to a vetted address. Fails if any of its addresses is not allowed. */
export async function resolveAllowedAddress(policy: AddressPolicy, url: URL): Promise<ResolvedAddress> {
  const host = url.hostname
  const hostname = host.replace(/^\[|\]$/g, '')
  const family = isIP(hostname)
  const addresses =
    family === 0 ? await policy.resolve(hostname) : [{ address: hostname, family: family === 6 ? 6 : 4 } as const]
  const [first] = addresses
  if (!first) throw accessDeniedError(`the host '${host}' of \`url\` has no address`, 'check the spelling of the host')
  const denied = addresses.find(({ address }) => !policy.isAllowed(address, portFrom(url)))
  if (denied)
    throw accessDeniedError(
      `the host '${host}' of \`url\` has a non-public address`,
      'use a host on the public internet',
    )
  return first
}

export function portFrom({ port, protocol }: URL): number {
  return Number(port || (protocol === 'https:' ? 443 : 80))
}

/** Whether `hosts` contains the host: as a name, as `*.name` for subdomains, or as `*`. */
export function isHostAllowed(hosts: readonly string[], host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  return hosts.some((pattern) => {
    const allowed = pattern.toLowerCase()
    if (allowed === '*') return true
    return allowed.startsWith('*.') ? name.endsWith(allowed.slice(1)) : name === allowed
  })
}
