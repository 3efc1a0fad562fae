import { refuse } from './refusal.ts'

const MAX_BODY_BYTES = 1024 * 1024
const MAX_DEPTH = 64

/** The JSON of a request of at most 1 MB and 64 levels. Reads no further than that. */
export async function readJsonBody(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw refuse(415, {
      code: 'unsupported_media_type',
      message: 'the body is not JSON',
      hint: 'send `content-type: application/json`',
    })
  }
  if (request.headers.has('content-encoding')) {
    throw refuse(415, { code: 'unsupported_media_type', message: '`content-encoding` is not supported' })
  }
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const text = await readText(request)
  if (isTooDeep(text)) {
    throw refuse(400, { code: 'invalid_input', message: `the JSON has more than ${MAX_DEPTH} levels` })
  }
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw refuse(400, { code: 'invalid_input', message: 'the body is not valid JSON' })
  }
}

async function readText(request: Request): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > MAX_BODY_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw refuse(400, { code: 'invalid_input', message: 'the body is not UTF-8' })
  }
}

function tooLarge() {
  return refuse(413, { code: 'too_large', message: 'the body has more than 1 MB' })
}

/** Counts brackets outside strings, before the parser and everything that walks through the value (stack overflow). */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isString = false
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index)
    if (isString) {
      if (char === BACKSLASH) index += 1
      else if (char === QUOTE) isString = false
    } else if (char === QUOTE) isString = true
    else if (char === OPEN_BRACKET || char === OPEN_BRACE) {
      depth += 1
      if (depth > MAX_DEPTH) return true
    } else if (char === CLOSE_BRACKET || char === CLOSE_BRACE) depth -= 1
  }
  return false
}

const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [34, 92, 91, 93, 123, 125]
