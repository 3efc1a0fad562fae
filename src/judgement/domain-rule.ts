import { starsMatch } from './stars.ts'

/*
 * Patterns for hosts. `domain:example.org` means the host and all below it, `domain:*.example.org` those below it. Hosts
 * are compared as the network does: without case, without a dot at the end, names of other scripts in their coded form.
 */

const PARTS = /^(?:domain:)?(?:[a-z][a-z0-9+.-]*:\/\/)?([^/]*)(\/.*)?$/is

export function hostIsAllowed(pattern: string, subject: string): boolean {
  const [, named = '', path = ''] = PARTS.exec(pattern.trim()) ?? []
  // Only the host of a call is known: a rule for some of its pages cannot be kept.
  if (!/^(\/\*{0,2})?$/.test(path)) return false
  const [wanted, host] = [plainHost(named), plainHost(subject)]
  return starsMatch(wanted, host) || (/^domain:/i.test(pattern.trim()) && host.endsWith(`.${wanted}`))
}

export function hostIsForbidden(pattern: string, subject: string): boolean {
  const [, named = ''] = PARTS.exec(pattern.trim()) ?? []
  const wanted = plainHost(named).replace(/^\*\./, '')
  const host = plainHost(subject)
  return wanted === '' || starsMatch(wanted, host) || starsMatch(`*.${wanted}`, host)
}

/** The host of an address or of a pattern, in the one spelling that is compared. */
export function plainHost(text: string): string {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const host = URL.parse(address)?.hostname ?? text
  return host.toLowerCase().replace(/\.+$/, '')
}
