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
const TOOL_CHOICE = /\btool[_ ]?choice\b/i
const REFUSED_SETTINGS = [
  ['top_p', /\btop[_ ]?p\b/i],
  ['seed', /\bseed\b/i],
  ['temperature', /\btemperature\b/i],
  ['effort', /reasoning[_ ]?(effort|config)|\bthinking\b/i],
] as const
const SYSTEM =
  /system (role|message|prompt|instruction)s?\b.{0,40}(not (supported|enabled|allowed)|unsupported)|(not|n['’]t) support system/i
/** The server or its model takes no images. */
export const NO_FILES =
  /(not|n['’]t) support (image|vision|multimodal)|image(_url|s)?( input| content)?s?.{0,40}(not|only) supported|no (vision|image) support|not a multimodal model|content must be a string|required for image input/i
const REFUSED =
  /support|unavailable|invalid|not (allowed|permitted|enabled)|unknown|unrecognized|extra inputs|cannot be (used|combined)|deprecated|disabled/i

/** The part of the request that the server refused, if its error says so. */
export function refusedFeature(text: string, context: ModelErrorContext): RefusedFeature | undefined {
  const { settings = {} } = context
  const limit = outputLimit(text)
  if (limit !== undefined) return limit
  if (context.system && SYSTEM.test(text)) return { feature: 'system' }
  // A server that refuses tools together with a schema mentions both: without the schema the agent can still work.
  if (context.output && OUTPUT.test(text) && REFUSED.test(text)) return { feature: 'output' }
  // Files of the user are not dropped: the answer would be about something that the model has not seen.
  if (context.result_files && !context.files && NO_FILES.test(text)) return { feature: 'result_files' }
  if (settings.tool_choice !== undefined && TOOL_CHOICE.test(text) && REFUSED.test(text))
    return { feature: 'tool_choice' }
  if (context.tools && TOOLS.test(text)) return { feature: 'tools' }
  if (!REFUSED.test(text)) return undefined
  const refused = REFUSED_SETTINGS.find(([name, pattern]) => settings[name] !== undefined && pattern.test(text))
  return refused && { feature: refused[0] }
}

/** With less room than this a conversation is too long: a summary helps, a shorter answer does not. */
const MIN_OUTPUT_TOKENS = 64

/** The greatest `max_tokens` that a server accepts, from errors such as those of OpenAI, Anthropic, Google, vLLM, Groq and OpenRouter. */
function outputLimit(text: string): RefusedFeature | undefined {
  const counts = windowCounts(text)
  if (counts) return counts.tokens - counts.input < MIN_OUTPUT_TOKENS ? undefined : { feature: 'window', ...counts }
  const asked = /max(?:_completion|_output)?_tokens|maxOutputTokens/i.test(text)
  const max = asked ? outputCap(text) : undefined
  return max === undefined ? undefined : { feature: 'max_output', max }
}

const CAP =
  /(?:at most|less than or equal to|must be <=|supports? at most|maximum(?: value)?(?: allowed)? (?:for|of|is).{0,60}?) ?`?(\d{2,})/i
/** Anthropic: "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for …". */
const EXCEEDED = /max_tokens: \d+ > (\d{2,}), which is the maximum/i
/** Google: "the supported range is from 1 (inclusive) to 8193 (exclusive)". DeepSeek: "the valid range of max_tokens is [1, 8192]". */
const RANGE =
  /range (?:is from|of max_tokens is) ?\[?\d+(?: \(inclusive\) to|,) ?(\d{2,})(?<exclusive> \(exclusive\))?/i

function outputCap(text: string): number | undefined {
  const range = RANGE.exec(text)
  if (range) return Number(range[1]) - (range.groups?.exclusive ? 1 : 0)
  const cap = EXCEEDED.exec(text) ?? CAP.exec(text)
  return cap ? Number(cap[1]) : undefined
}

/** The context window and the tokens of the input, if the error has both. */
function windowCounts(text: string): { tokens: number; input: number } | undefined {
  // Anthropic: "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000".
  const sum = /exceed context limit: (\d+) \+ \d+ > (\d+)/i.exec(text)
  if (sum) return { tokens: Number(sum[2]), input: Number(sum[1]) }
  const window = /maximum context length (?:is|of) (\d+)/i.exec(text)
  const input =
    /(\d+) in the (?:messages|prompt|input)|request has (\d+) input tokens|prompt contains (?:at least )?(\d+)/i.exec(
      text,
    )
  if (window && input) return { tokens: Number(window[1]), input: Number(input[1] ?? input[2] ?? input[3]) }
  // OpenRouter: "you requested about 138956 tokens (7884 of text input, 131072 in the output)".
  const parts = /requested about (\d+) tokens \(.{0,200}?(\d+) in the output\)/i.exec(text)
  return window && parts ? { tokens: Number(window[1]), input: Number(parts[1]) - Number(parts[2]) } : undefined
}
