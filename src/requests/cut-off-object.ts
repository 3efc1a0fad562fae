/** A JSON object that ends before its last brace, as a response that reached its output limit does. */
export interface CutOffObject {
  fields: Record<string, unknown>
  /** The field whose text is incomplete. */
  cut?: string
}

/**
 * The fields of a JSON object that was cut off. An incomplete text is kept and named; an incomplete number, literal or key is left out: 0 may be the
 * beginning of 0.7. `undefined` when the text is something else, or not cut off. One pass: a long text must not take quadratic time.
 */
export function parseCutOffObject(text: string): CutOffObject | undefined {
  const body = text.trim().replace(/^```(?:json)?\s*/i, '')
  if (!body.startsWith('{')) return undefined
  const { missing, isInText, completeEnd } = scan(body)
  if (missing === '') return undefined
  const isLastComplete = isInText || /["}\]]$/.test(body)
  const closed = isLastComplete ? parseObject(`${isInText ? closeText(body) : body}${missing}`) : undefined
  const fields = closed ?? parseObject(body.slice(0, completeEnd) + missing)
  if (!fields) return undefined
  const cut = closed && isInText && missing === '}' ? Object.keys(closed).at(-1) : undefined
  return cut === undefined ? { fields } : { fields, cut }
}

/** True when brackets or quotes of an object are open at its end. */
export function isCutOff(body: string): boolean {
  return scan(body).missing !== ''
}

interface Scan {
  /** The closing brackets that are missing, in their order. */
  missing: string
  isInText: boolean
  /** The last place before which everything is complete. The same brackets are open there as at the end. */
  completeEnd: number
}

function scan(body: string): Scan {
  const closers: string[] = []
  let completeEnd = 0
  let isInText = false
  for (let index = 0; index < body.length; index++) {
    const char = body[index] as string
    if (isInText && char === '\\') index++
    else if (char === '"') isInText = !isInText
    else if (isInText) continue
    else if (char === '{' || char === '[') {
      closers.push(char === '{' ? '}' : ']')
      completeEnd = index + 1
    } else if (char === '}' || char === ']') {
      closers.pop()
      completeEnd = index + 1
      if (closers.length === 0) break
    } else if (char === ',') completeEnd = index
  }
  return { missing: closers.toReversed().join(''), isInText, completeEnd }
}

/** Ends a text that was cut off, perhaps within an escape such as `\u00`. */
function closeText(body: string): string {
  const tail = /(\\*)(u[0-9a-f]{0,3})?$/i.exec(body.slice(-200))
  const [, slashes = '', unicode = ''] = tail ?? []
  const isInEscape = slashes.length % 2 === 1
  return `${isInEscape ? body.slice(0, body.length - unicode.length - 1) : body}"`
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
