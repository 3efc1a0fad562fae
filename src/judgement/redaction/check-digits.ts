/* Check digits of account, card and identity numbers. The methods are public standards; a number that fails them is something else. */

/** Lengths of IBANs by country (ISO 13616). */
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    'NO15 BE16 DK18 FI18 FO18 GL18 NL18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 XK20 CH21 HR21 LI21 LV21 BG22 BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 ' +
    'VA22 AE23 IL23 GI23 IQ23 TL23 AD24 CZ24 ES24 MD24 PK24 RO24 SA24 SE24 SK24 TN24 VG24 EG29 LY25 PT25 ST25 IS26 TR26 FR27 GR27 IT27 MC27 MR27 SM27 ' +
    'AL28 AZ28 BY28 CY28 DO28 GT28 HU28 LB28 PL28 BR29 PS29 QA29 UA29 JO30 KW30 MU30 MT31 SC31'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

export function isIban(text: string): boolean {
  const account = text.replaceAll(' ', '')
  if (IBAN_LENGTHS[account.slice(0, 2)] !== account.length) return false
  const rearranged = account.slice(4) + account.slice(0, 4)
  let remainder = 0
  for (const character of rearranged) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder === 1
}

/** Numbers that card companies and payment services publish for tests. */
const TEST_CARDS = new Set(
  (
    '4111111111111111 4242424242424242 4012888888881881 4000056655665556 5555555555554444 5105105105105100 2223003122003222 ' +
    '378282246310005 371449635398431 6011111111111117 6011000990139424 3530111333300000 30569309025904 4000000000000002'
  ).split(' '),
)

const CARD_FORMATS =
  /^(?:4\d{12}|4\d{15}|4\d{18}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11})$/

export function isCardNumber(number: string): boolean {
  return CARD_FORMATS.test(number) && !TEST_CARDS.has(number) && luhnSum(number) % 10 === 0
}

function luhnSum(number: string): number {
  return [...number].reverse().reduce((sum, character, index) => {
    const digit = Number(character)
    const doubled = digit * 2
    return sum + (index % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled)
  }, 0)
}

/** Social security numbers (US), CPF (BR), AHV (CH), codice fiscale (IT), NIR (FR) and Aadhaar (IN), in their usual spelling. */
export function isNationalId(text: string, before: string): boolean {
  if (/^\d{3}-\d{2}-\d{4}$/.test(text)) return isSocialSecurityNumber(text, before)
  const number = text.replace(/[ .-]/g, '')
  if (/^\d{3}\.\d{3}\.\d{3}-\d{2}$/.test(text)) return isCpf(number)
  if (text.startsWith('756.')) return weightedSum(number, [1, 3]) % 10 === 0
  if (/^[A-Z]/.test(text)) return isCodiceFiscale(text)
  if (number.length === 15) return Number(BigInt(number.slice(0, 13)) % 97n) === 97 - Number(number.slice(13))
  return number.length === 12 && verhoeff(number)
}

/** Groups 000, 666 and 9xx were never issued; 078-05-1120 and 123-45-6789 are examples. */
function isSocialSecurityNumber(text: string, before: string): boolean {
  if (/^(?:000|666|9\d\d)|-00-|-0000$/.test(text) || text === '078-05-1120' || text === '123-45-6789') return false
  return !/[\w/-]$/.test(before)
}

function weightedSum(number: string, weights: readonly number[]): number {
  return [...number].reduce((sum, digit, index) => sum + Number(digit) * (weights[index % weights.length] ?? 0), 0)
}

function isCpf(number: string): boolean {
  if (/^(\d)\1+$/.test(number)) return false
  return [9, 10].every((length) => {
    const sum = [...number.slice(0, length)].reduce(
      (total, digit, index) => total + Number(digit) * (length + 1 - index),
      0,
    )
    return ((sum * 10) % 11) % 10 === Number(number.charAt(length))
  })
}

const ODD_VALUES = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]

function isCodiceFiscale(text: string): boolean {
  const ordinal = (character: string) => (/\d/.test(character) ? Number(character) : character.charCodeAt(0) - 65)
  const sum = [...text.slice(0, 15)].reduce((total, character, index) => {
    const value = ordinal(character)
    return total + (index % 2 === 0 ? (ODD_VALUES[value] ?? 0) : value)
  }, 0)
  return String.fromCharCode(65 + (sum % 26)) === text.charAt(15)
}

/** The dihedral group of order ten, and the permutation that is applied by position. */
const DIHEDRAL =
  '0123456789 1234067895 2340178956 3401289567 4012395678 5987604321 6598710432 7659821043 8765932104 9876543210'.split(
    ' ',
  )
const PERMUTATIONS = '0123456789 1576283094 5803796142 8916043527 9453126870 4286573901 2793806415 7046913258'.split(
  ' ',
)

function verhoeff(number: string): boolean {
  const check = [...number].reverse().reduce((state, digit, index) => {
    const permuted = PERMUTATIONS[index % 8]?.charAt(Number(digit)) ?? '0'
    return Number(DIHEDRAL[state]?.charAt(Number(permuted)) ?? '0')
  }, 0)
  return check === 0
}
