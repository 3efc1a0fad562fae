import { matchesWildcard } from './permission-rule.ts'

/*
 * Host patterns of WebFetch rules. `domain:example.org` matches the host and its subdomains, `domain:*.example.org`
 * only the subdomains. Hosts are compared in lower case, without a trailing dot and in Punycode.
 */

/** The host and the path of a pattern such as `domain:example.org` or `https://example.org/docs`. */
export const HOST_PATTERN = /^(?:domain:)?(?:[a-z][a-z0-9+.-]*:\/\/)?([^/]*)(\/.*)?$/is

export function isHostAllowedByRule(pattern: string, subject: string): boolean {
  const [, hostPattern = '', path = ''] = HOST_PATTERN.exec(pattern.trim()) ?? []
  // A call is checked by its host only, so a rule for one path cannot be enforced.
  if (!/^(\/\*{0,2})?$/.test(path)) return false
  const [wantedHost, host] = [normalizeHost(hostPattern), normalizeHost(subject)]
  return matchesWildcard(wantedHost, host) || (/^domain:/i.test(pattern.trim()) && host.endsWith(`.${wantedHost}`))
}

export function isHostDeniedByRule(pattern: string, subject: string): boolean {
  const [, hostPattern = ''] = HOST_PATTERN.exec(pattern.trim()) ?? []
  const wantedHost = normalizeHost(hostPattern).replace(/^\*\./, '')
  const host = normalizeHost(subject)
  return wantedHost === '' || matchesWildcard(wantedHost, host) || matchesWildcard(`*.${wantedHost}`, host)
}

/** The host of a URL or pattern in canonical form. */
export function normalizeHost(text: string): string {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const host = URL.parse(address)?.hostname ?? text
  return host.toLowerCase().replace(/\.+$/, '')
}
