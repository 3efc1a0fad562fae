import { isCardNumber, isIban, isNationalId } from './check-digits.ts'
import type { Secret } from './redaction.ts'

/*
 * Finds personal data in texts: e-mail addresses, phone numbers, bank accounts, payment cards and national ids.
 * 1. Few false alarms: numbers count only with valid check digits, or in a form that nothing else has.
 * 2. Linear: every expression begins at a character that cannot precede it, and its length is bounded.
 * 3. Reserved for documentation, and so never personal: example.com, 555-01xx, test numbers of card companies.
 */

/** All personal data in a text, in order and without overlaps. */
export function findPersonalData(text: string): Secret[] {
  const found = [...findEmails(text), ...findNumbers(text)].sort((a, b) => a.start - b.start || b.end - a.end)
  let end = 0
  return found.filter((each) => {
    if (each.start < end) return false
    end = each.end
    return true
  })
}

const LOCAL_PART = /[A-Za-z0-9._%+-]/
const MAX_LOCAL_PART = 64
const DOMAIN = /(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,6}[A-Za-z]{2,24}(?![A-Za-z0-9_-])/y
/** Domains that nobody can own (RFC 2606, RFC 6761), and those of addresses that forward to nobody. */
const RESERVED_DOMAIN =
  /(?:^|\.)(?:example\.(?:com|org|net)|example|test|invalid|localhost|local|internal|lan|users\.noreply\.github\.com)$|^(?:domain|yourdomain|mydomain|email|company|acme|foo|bar|host|server|mail|site|website)\.(?:com|org|net)$/i
/** Addresses of a function, not of a person. */
const ROLE =
  /^(?:info|support|security|admin|administrator|hello|contact|sales|help|team|abuse|postmaster|webmaster|hostmaster|root|git|hg|svn|bot|ci|noreply|no-reply|donotreply|do-not-reply|mailer-daemon|billing|press|jobs|office|dev|ops|legal|privacy|opensource|oss|maintainers|feedback|bugs|conduct|user|username|name|you|your|someone|me|foo|bar|test|tester|example)$/i
/** Endings of files: `logo@2x.png` is an image, and `component@next.js` a module. */
const FILE_ENDING =
  /\.(?:png|jpe?g|gif|svg|webp|ico|js|mjs|cjs|ts|tsx|jsx|css|scss|json|ya?ml|md|py|rb|go|rs|php|sh|html?|xml|txt|zip|gz|tgz|lock)$/i

function findEmails(text: string): Secret[] {
  const found: Secret[] = []
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = at
    while (start > 0 && at - start <= MAX_LOCAL_PART && LOCAL_PART.test(text.charAt(start - 1))) start--
    while (start < at && /[.%+-]/.test(text.charAt(start))) start++
    const local = text.slice(start, at)
    if (local === '' || local.length > MAX_LOCAL_PART || local.endsWith('.')) continue
    DOMAIN.lastIndex = at + 1
    const domain = DOMAIN.exec(text)?.[0]
    if (domain === undefined || !isPersonalAddress(local, domain)) continue
    const end = at + 1 + domain.length
    // `git@host:path` is a remote repository, `ssh://ann@host` a login, and `/a@b.c/` a path.
    const before = text.slice(Math.max(0, start - 3), start)
    if (before.endsWith('://') || before.endsWith('/') || /^:[\w~./-]/.test(text.slice(end, end + 2))) continue
    found.push({ start, end, text: '[redacted: email]' })
  }
  return found
}

function isPersonalAddress(local: string, domain: string): boolean {
  return /[A-Za-z]/.test(local) && !ROLE.test(local) && !RESERVED_DOMAIN.test(domain) && !FILE_ENDING.test(domain)
}

interface NumberFormat {
  kind: string
  pattern: RegExp
  accepts(match: string, before: string): boolean
}

const digits = (text: string) => text.replace(/\D/g, '')
/** Words right before a number that say what it is. */
const PHONE_WORD = /(?:phone|tel|telefon|telephone|mobile|mobil|cell|call|whatsapp|sms|fax)[^\d\n]{0,12}$/i
const CARD_WORD = /(?:card|visa|mastercard|amex|credit|payment|pan)[^\d\n]{0,20}$/i
/** Numbers for fiction and documentation: 555-0100 to 555-0199. */
const FICTION = /555[ .-]?01\d\d$/

const NUMBER_FORMATS: readonly NumberFormat[] = [
  {
    kind: 'iban',
    pattern: /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/g,
    accepts: isIban,
  },
  {
    kind: 'card-number',
    pattern: /(?<![\w.+-])\d{4}([ -])\d{4,6}\1\d{4,5}(?:\1\d{1,7})?(?![\w-]|\.\d)/g,
    accepts: (match) => isCardNumber(digits(match)),
  },
  {
    // Without groups, a number of this length is as often an id: one in ten has a valid check digit by chance.
    kind: 'card-number',
    pattern: /(?<![\w.+-])\d{13,19}(?![\w-]|\.\d)/g,
    accepts: (match, before) => CARD_WORD.test(before) && isCardNumber(match),
  },
  {
    kind: 'national-id',
    pattern:
      /(?<![\w.+-])(?:\d{3}-\d{2}-\d{4}|\d{3}\.\d{3}\.\d{3}-\d{2}|756\.\d{4}\.\d{4}\.\d{2}|[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]|[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3} ?\d{2}|[2-9]\d{3} \d{4} \d{4})(?![\w-]|\.\d)/g,
    accepts: isNationalId,
  },
  {
    // +49 30 1234567, +1 (415) 867-5309
    kind: 'phone',
    pattern: /(?<![\w.+*/-])\+[1-9]\d{0,2}[ .-]?(?:\(\d{1,5}\)[ .-]?)?\d{1,5}(?:[ .-]\d{2,8}){1,4}(?![\w-]|\.\d)/g,
    accepts: (match) => digits(match).length >= 9 && digits(match).length <= 15 && !FICTION.test(match),
  },
  {
    kind: 'phone',
    pattern: /(?<![\w.+*/-])\(\d{3}\) ?\d{3}[ .-]\d{4}(?![\w-]|\.\d)/g,
    accepts: (match) => !FICTION.test(match),
  },
  {
    kind: 'phone',
    pattern: /(?<![\w.+*/-])\+?\d(?:[ .-]?\d){7,14}(?![\w-]|\.\d)/g,
    accepts: (match, before) => PHONE_WORD.test(before) && !FICTION.test(match),
  },
]

const CONTEXT_CHARACTERS = 40

function findNumbers(text: string): Secret[] {
  return NUMBER_FORMATS.flatMap(({ kind, pattern, accepts }) =>
    [...text.matchAll(pattern)]
      .filter(({ 0: match, index }) => accepts(match, text.slice(Math.max(0, index - CONTEXT_CHARACTERS), index)))
      .map(({ 0: match, index }) => ({ start: index, end: index + match.length, text: `[redacted: ${kind}]` })),
  )
}
