import { createRequire } from 'node:module'

/** Texts above this length are not repaired: some take the parser more than quadratic time (denial of service). */
const MAX_CHARACTERS = 20_000

let parser: typeof import('jsonrepair') | undefined

/**
 * The object of a text that is almost JSON: trailing commas, comments, single or typographic quotes, names without quotes, raw line breaks, Python's
 * `True` and `None`. `undefined` for anything else. The parser is loaded with the first such text: most responses are JSON.
 */
export function repairJsonObject(text: string): object | undefined {
  if (text.length > MAX_CHARACTERS || !/^\{\s*["'“‘\w/#]/.test(text)) return undefined
  try {
    parser ??= createRequire(import.meta.url)('jsonrepair') as typeof import('jsonrepair')
    const value: unknown = JSON.parse(parser.jsonrepair(text))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
