/** A response that the mock provider cannot produce, encoded in the protocol of a provider. */
export interface ProviderResponse {
  text?: string
  call?: { name: string; arguments: string }
  thought?: { text: string; signature: string }
  stop?: 'length' | 'refusal'
  usage?: { input: number; cache_read: number; cache_write: number; output: number; reasoning: number }
}

const ZERO_USAGE = { input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 }

export const RESPONSE_ENCODERS: Readonly<Record<string, (response: ProviderResponse) => string>> = {
  Anthropic: encodeAnthropic,
  'OpenAI chat': encodeChatCompletions,
  'OpenAI-compatible': encodeChatCompletions,
  'OpenAI responses': encodeResponses,
  Gemini: encodeGemini,
}

function encodeEvents(events: readonly object[], named = false): string {
  const name = (event: object) => (named && 'type' in event ? `event: ${String(event.type)}\n` : '')
  return events.map((event) => `${name(event)}data: ${JSON.stringify(event)}\n\n`).join('')
}

function encodeAnthropic({ text, call, thought, stop, usage = ZERO_USAGE }: ProviderResponse): string {
  const blocks: { start: object; deltas: object[] }[] = []
  if (thought) {
    const deltas = [
      { type: 'thinking_delta', thinking: thought.text },
      { type: 'signature_delta', signature: thought.signature },
    ]
    blocks.push({ start: { type: 'thinking', thinking: '', signature: '' }, deltas })
  }
  if (text) blocks.push({ start: { type: 'text', text: '' }, deltas: [{ type: 'text_delta', text }] })
  if (call) {
    const start = { type: 'tool_use', id: 'toolu_1', name: call.name, input: {} }
    blocks.push({ start, deltas: [{ type: 'input_json_delta', partial_json: call.arguments }] })
  }
  const tokens = {
    input_tokens: usage.input - usage.cache_read - usage.cache_write,
    cache_read_input_tokens: usage.cache_read,
    cache_creation_input_tokens: usage.cache_write,
  }
  const reasons = { length: 'max_tokens', refusal: 'refusal' }
  const stop_reason = stop ? reasons[stop] : call ? 'tool_use' : 'end_turn'
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null }
  return encodeEvents(
    [
      { type: 'message_start', message: { ...message, usage: { ...tokens, output_tokens: 1 } } },
      ...blocks.flatMap(({ start, deltas }, index) => [
        { type: 'content_block_start', index, content_block: start },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]),
      {
        type: 'message_delta',
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: usage.output, output_tokens_details: { thinking_tokens: usage.reasoning } },
      },
      { type: 'message_stop' },
    ],
    true,
  )
}

function encodeChatCompletions({ text, call, stop, usage = ZERO_USAGE }: ProviderResponse): string {
  const reasons = { length: 'length', refusal: 'content_filter' }
  const finish_reason = stop ? reasons[stop] : call ? 'tool_calls' : 'stop'
  const head = { id: 'chatcmpl_1', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const chunk = (delta: object, finish: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const tool_calls = call && [{ index: 0, id: 'call_1', type: 'function', function: call }]
  const tokens = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cache_read },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
  const events = [
    ...(text ? [chunk({ role: 'assistant', content: text })] : []),
    ...(tool_calls ? [chunk({ role: 'assistant', tool_calls })] : []),
    chunk({}, finish_reason),
    { ...head, choices: [], usage: tokens },
  ]
  return `${encodeEvents(events)}data: [DONE]\n\n`
}

function encodeResponses({ text, call, thought, stop, usage = ZERO_USAGE }: ProviderResponse): string {
  const items: { item: object; deltas: object[]; done: object }[] = []
  if (thought) {
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null }
    const summary = [{ type: 'summary_text', text: thought.text }]
    const position = { item_id: 'rs_1', output_index: items.length, summary_index: 0 }
    const deltas = [
      { type: 'response.reasoning_summary_part.added', ...position, part: { type: 'summary_text', text: '' } },
      { type: 'response.reasoning_summary_text.delta', ...position, delta: thought.text },
      { type: 'response.reasoning_summary_part.done', ...position, part: summary[0] },
    ]
    items.push({ item, deltas, done: { ...item, summary, encrypted_content: thought.signature } })
  }
  if (text) {
    const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] }
    const position = { item_id: 'msg_1', output_index: items.length, content_index: 0 }
    const content = [{ type: 'output_text', text, annotations: [] }]
    const deltas = [{ type: 'response.output_text.delta', ...position, delta: text }]
    items.push({ item, deltas, done: { ...item, status: 'completed', content } })
  }
  if (call) {
    const item = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: call.name, arguments: '' }
    const position = { item_id: 'fc_1', output_index: items.length }
    const deltas = [{ type: 'response.function_call_arguments.delta', ...position, delta: call.arguments }]
    items.push({ item, deltas, done: { ...item, arguments: call.arguments, status: 'completed' } })
  }
  const reasons = { length: 'max_output_tokens', refusal: 'content_filter' }
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    output: [],
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cache_read },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: usage.input + usage.output,
    },
  }
  const end = stop
    ? { type: 'response.incomplete', response: { ...response, incomplete_details: { reason: reasons[stop] } } }
    : { type: 'response.completed', response: { ...response, status: 'completed', incomplete_details: null } }
  return encodeEvents(
    [
      { type: 'response.created', response: { ...response, usage: null } },
      ...items.flatMap(({ item, deltas, done }, output_index) => [
        { type: 'response.output_item.added', output_index, item },
        ...deltas,
        { type: 'response.output_item.done', output_index, item: done },
      ]),
      end,
    ],
    true,
  )
}

function encodeGemini({ text, call, thought, stop, usage = ZERO_USAGE }: ProviderResponse): string {
  const reasons = { length: 'MAX_TOKENS', refusal: 'SAFETY' }
  const parts = [
    ...(thought ? [{ text: thought.text, thought: true }] : []),
    ...(text ? [{ text }] : []),
    ...(call
      ? [
          {
            functionCall: { name: call.name, args: JSON.parse(call.arguments) as unknown },
            ...(thought && { thoughtSignature: thought.signature }),
          },
        ]
      : []),
  ]
  const usageMetadata = {
    promptTokenCount: usage.input,
    cachedContentTokenCount: usage.cache_read,
    candidatesTokenCount: usage.output - usage.reasoning,
    thoughtsTokenCount: usage.reasoning,
    totalTokenCount: usage.input + usage.output,
  }
  const finishReason = stop ? reasons[stop] : 'STOP'
  return encodeEvents([{ candidates: [{ index: 0, content: { role: 'model', parts }, finishReason }], usageMetadata }])
}
