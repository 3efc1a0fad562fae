import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider'

/*
 * Anthropic caches what stands before a mark, four marks at the most, in the order tools, system, messages:
 * the last tool and the system prompt for every agent that shares them, the end of the last request and the end of this
 * one for the next turn of the same session. All other providers cache prefixes by themselves.
 */

const MARK = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const

/** Marks a request in place. Marked messages cost a quarter more, so a question that ends with its answer gets none. */
export function markForCaching(prompt: LanguageModelV4Message[], tools: LanguageModelV4FunctionTool[]): void {
  mark(tools.at(-1))
  const [first] = prompt
  if (first?.role === 'system') mark(first)
  const conversation = prompt.filter(({ role }) => role !== 'system')
  if (tools.length === 0 && conversation.length < 2) return
  mark(conversation.at(-1))
  const lastAnswer = conversation.findLastIndex(({ role }) => role === 'assistant')
  if (lastAnswer > 0) mark(conversation[lastAnswer - 1])
}

function mark(place: { providerOptions?: object } | undefined): void {
  if (place) place.providerOptions = { ...place.providerOptions, ...MARK }
}
