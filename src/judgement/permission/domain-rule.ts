import { matchesWildcard } from './wildcard.ts'

/*
 * Patterns for hosts. `domain:example.org` means the host and all below it, `domain:*.example.org` those below it. Hosts
 * are compared as the network does: without case, without a dot at the end, names of other scripts in their coded form.
 */

const HOST_PATTERN = /^(?:domain:)?(?:[a-z][a-z0-9+.-]*:\/\/)?([^/]*)(\/.*)?$/is

export function isHostAllowedByRule(pattern: string, subject: string): boolean {
  const [, named = '', path = ''] = HOST_PATTERN.exec(pattern.trim()) ?? []
  // Only the host of a call is known: a rule for some of its pages cannot be kept.
  if (!/^(\/\*{0,2})?$/.test(path)) return false
  const [wanted, host] = [normalizeHost(named), normalizeHost(subject)]
  return matchesWildcard(wanted, host) || (/^domain:/i.test(pattern.trim()) && host.endsWith(`.${wanted}`))
}

export function isHostDeniedByRule(pattern: string, subject: string): boolean {
  const [, named = ''] = HOST_PATTERN.exec(pattern.trim()) ?? []
  const wanted = normalizeHost(named).replace(/^\*\./, '')
  const host = normalizeHost(subject)
  return wanted === '' || matchesWildcard(wanted, host) || matchesWildcard(`*.${wanted}`, host)
}

/** The host of an address or of a pattern, in the one spelling that is compared. */
export function normalizeHost(text: string): string {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const host = URL.parse(address)?.hostname ?? text
  return host.toLowerCase().replace(/\.+$/, '')
}
