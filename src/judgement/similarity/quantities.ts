/** `m` is not listed because it is ambiguous: minutes, metres or millions. */
const MILLISECONDS_PER_UNIT: Readonly<Record<string, number>> = {
  ms: 1,
  msec: 1,
  millisecond: 1,
  s: 1000,
  sec: 1000,
  second: 1000,
  min: 60_000,
  minute: 60_000,
  h: 3_600_000,
  hr: 3_600_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
}

const NUMBER_WORDS: Readonly<Record<string, string>> = {
  zero: '0',
  two: '2',
  three: '3',
  four: '4',
  five: '5',
  six: '6',
  seven: '7',
  eight: '8',
  nine: '9',
  ten: '10',
  eleven: '11',
  twelve: '12',
  fifteen: '15',
  twenty: '20',
  thirty: '30',
  forty: '40',
  fifty: '50',
  sixty: '60',
  ninety: '90',
  twice: '2x',
  double: '2x',
  triple: '3x',
  half: '0.5x',
}
const NUMBER_WORD = new RegExp(`\\b(?:${Object.keys(NUMBER_WORDS).join('|')})\\b`, 'gi')

const ORDINAL_WORDS: Readonly<Record<string, string>> = {
  '1st': 'first',
  '2nd': 'second',
  '3rd': 'third',
  '4th': 'fourth',
  '5th': 'fifth',
  '6th': 'sixth',
  '7th': 'seventh',
  '8th': 'eighth',
  '9th': 'ninth',
  '10th': 'tenth',
}
const ORDINAL = new RegExp(`\\b(?:${Object.keys(ORDINAL_WORDS).join('|')})\\b`, 'gi')

const NUMBER = '(?<![\\w.])(?<sign>(?<!\\S)[-−])?(?<amount>\\d+(?:[.,]\\d+)*)'
const QUANTITY = new RegExp(`${NUMBER}(?:\\s?(?<unit>[a-zA-Zµ]{1,12}(?!\\w)|%|per ?cent\\b))?(?!\\w|\\.\\d)`, 'gu')

/** Rewrites numbers with their units as one word each: "30s", "30 seconds" and "0.5 min" become `30000ms`. */
export function normalizeQuantities(text: string): string {
  const withDigits = text.replace(NUMBER_WORD, (word) => NUMBER_WORDS[word.toLowerCase()] ?? word)
  const withOrdinals = withDigits.replace(ORDINAL, (ordinal) => ORDINAL_WORDS[ordinal.toLowerCase()] ?? ordinal)
  const withVersions = withOrdinals.replace(/\b(?:version|ver\.?|v\.?)\s?(?=\d)/gi, 'v')
  return withVersions.replace(QUANTITY, (whole: string, ...rest: unknown[]) => {
    const { sign = '', amount = '', unit = '' } = rest.at(-1) as Record<string, string | undefined>
    return (
      formatQuantity(`${sign && '-'}${normalizeNumber(amount)}`, unit) ??
      (sign ? `minus${whole.slice(1)}` : replaceAmount(whole, amount))
    )
  })
}

function replaceAmount(whole: string, amount: string): string {
  return whole.replace(amount, normalizeNumber(amount))
}

/** 1,000 becomes 1000 and 2.0 becomes 2; 3.10 stays, because as a version it is not 3.1. */
function normalizeNumber(amount: string): string {
  const digits = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(amount) ? amount.replaceAll(',', '') : amount
  return digits.replace(/^(\d+)\.0$/, '$1')
}

function formatQuantity(amount: string, unit: string): string | undefined {
  const lower = unit.toLowerCase()
  const word = amount.replace('-', 'minus')
  if (lower === '%' || /^per ?cent$/.test(lower)) return `${word}%`
  if (lower === 'x' || lower === 'times') return `${word}x`
  if (unit === 'k') return `${word}000`.replace(/^(\d+)\.(\d)000$/, '$1$200')
  const milliseconds = MILLISECONDS_PER_UNIT[lower] ?? MILLISECONDS_PER_UNIT[lower.replace(/s$/, '')]
  const value = Number(amount)
  if (milliseconds !== undefined && Number.isFinite(value))
    return `${Math.round(value * milliseconds * 1e6) / 1e6}ms`.replace('-', 'minus')
  if (/^[kmgtp]i?b$/.test(lower)) return `${word}${lower}`
  return undefined
}

const ORDINALS = new Set(['last', ...Object.values(ORDINAL_WORDS)])

/** Whether two statements mention different amounts, versions or ordinals. */
export function amountsDiffer(a: readonly string[], b: readonly string[]): boolean {
  const [numbersOfA, numbersOfB] = [a.filter(hasNumber), b.filter(hasNumber)]
  const [onlyInA, onlyInB] = [multisetDifference(numbersOfA, numbersOfB), multisetDifference(numbersOfB, numbersOfA)]
  // "one" counts as a number only when the other statement has the digit 1.
  if (onlyInA.some((word) => word !== '1' || !b.includes('one'))) return true
  if (onlyInB.some((word) => word !== '1' || !a.includes('one'))) return true
  return neitherIncludesOther(a.filter(isOrdinal), b.filter(isOrdinal))
}

function hasNumber(word: string): boolean {
  return /\p{N}/u.test(word) && !isOrdinal(word)
}

function isOrdinal(word: string): boolean {
  return ORDINALS.has(word)
}

/** Words of `list` that exceed their count in `others`; a leading v is ignored. */
function multisetDifference(list: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const word of others.map(stripVersionPrefix)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return list.map(stripVersionPrefix).filter((word) => {
    const count = counts.get(word) ?? 0
    counts.set(word, count - 1)
    return count < 1
  })
}

function stripVersionPrefix(word: string): string {
  return word.replace(/^v(?=\d)/, '')
}

/** Whether each list has an element that the other lacks. */
export function neitherIncludesOther(a: readonly string[], b: readonly string[]): boolean {
  return a.some((word) => !b.includes(word)) && b.some((word) => !a.includes(word))
}
