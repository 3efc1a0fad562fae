import type { RefusedFeature } from '../kernel/model.ts'
import type { ModelErrorContext } from './model-error-context.ts'

/*
 * Servers that call themselves compatible refuse parts of a request: a schema for the answer, tools, a temperature. Which part
 * it was is only in the text of the error. Each is looked for only if the request had it.
 */

const OUTPUT =
  /response[_ ]?(format|mime[_ ]?type|schema)|json[_ -]?(schema|mode|object)|output_(format|config)|structured[_ ]outputs?|guided[_ ](json|decoding)|\bgrammar\b/i
const TOOLS =
  /(tool|function)[ _-]?(use|call(ing|s)?|choice)?s?\b.{0,60}(not (supported|enabled|available)|unsupported|requires? --)|(not|n['’]t) support (tools?|function|tool use)|support tool use|unsupported.{0,30}\btools?\b/i
const TEMPERATURE = /\btemperature\b/i
const EFFORT = /reasoning[_ ]?(effort|config)|\bthinking\b/i
const SYSTEM =
  /system (role|message|prompt|instruction)s?\b.{0,40}(not (supported|enabled|allowed)|unsupported)|(not|n['’]t) support system/i
const REFUSED =
  /support|unavailable|invalid|not (allowed|permitted|enabled)|unknown|unrecognized|extra inputs|cannot be (used|combined)|deprecated|disabled/i

/** What the server refused of the request, if its error says so. */
export function refusedFeature(text: string, context: ModelErrorContext): RefusedFeature | undefined {
  const limit = outputLimit(text)
  if (limit !== undefined) return limit
  if (context.system && SYSTEM.test(text)) return { feature: 'system' }
  // A server that refuses tools together with a schema mentions both: without the schema the agent can still work.
  if (context.output && OUTPUT.test(text) && REFUSED.test(text)) return { feature: 'output' }
  if (context.tools && TOOLS.test(text)) return { feature: 'tools' }
  if (!REFUSED.test(text)) return undefined
  if (context.temperature && TEMPERATURE.test(text)) return { feature: 'temperature' }
  return context.effort && EFFORT.test(text) ? { feature: 'effort' } : undefined
}

/** With less room than this a conversation is too long: a summary helps, a shorter answer does not. */
const MIN_OUTPUT_TOKENS = 64

/** The greatest `max_tokens` that a server accepts, from errors such as those of OpenAI, vLLM and Groq. */
function outputLimit(text: string): RefusedFeature | undefined {
  const window = /maximum context length (?:is|of) (\d+)/i.exec(text)
  const input =
    /(\d+) in the (?:messages|prompt|input)|request has (\d+) input tokens|prompt contains (?:at least )?(\d+)/i.exec(
      text,
    )
  if (window && input) {
    const counts = { tokens: Number(window[1]), input: Number(input[1] ?? input[2] ?? input[3]) }
    return counts.tokens - counts.input < MIN_OUTPUT_TOKENS ? undefined : { feature: 'window', ...counts }
  }
  const asked = /max(?:_completion|_output)?_tokens/i.test(text)
  const cap =
    /(?:at most|less than or equal to|must be <=|supports? at most|maximum(?: value)?(?: allowed)? (?:for|of|is).{0,60}?) ?`?(\d{2,})/i.exec(
      text,
    )
  return asked && cap ? { feature: 'max_output', max: Number(cap[1]) } : undefined
}
