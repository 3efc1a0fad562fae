import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import type { Message, ModelRequest } from '../kernel/model.ts'
import { userMessage } from '../kernel/model.ts'
import { modelRequest } from '../testing/model-contract.ts'
import { toCallOptions } from './call-options.ts'
import { ToolNameMap } from './tool-name-map.ts'

const OTHER_PROVIDER = { provider: 'other', modelId: 'model' }

function callOptions(changes: Partial<ModelRequest> = {}, identity = OTHER_PROVIDER): LanguageModelV4CallOptions {
  const request = modelRequest('go', changes)
  const model = { ...identity, specificationVersion: 'v4' }
  const target = { model, name: 'here/model', toolNames: new ToolNameMap(request.tools) }
  return toCallOptions(target, request, new AbortController().signal)
}

describe('the request to the provider', () => {
  test('MO1 the system prompt comes first, then the conversation with its images, tool calls and results', () => {
    const messages: Message[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'text', text: ' ' },
          { type: 'file', media_type: 'image/png', data: 'data:image/png;base64,AAAA' },
          { type: 'file', media_type: 'image/jpeg', data: 'https://example.com/a.jpg' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: '' },
          { type: 'tool-call', id: 'a', name: 'look', input: { path: 'x' } },
          { type: 'tool-call', id: 'b~2', name: 'look', input: '{"pa', invalid: 'no JSON' },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', id: 'a', name: 'look', text: 'here', is_error: false },
          { type: 'tool-result', id: 'b~2', name: 'look', text: 'bad arguments', is_error: true },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: '' }] },
      userMessage(''),
    ]
    const options = callOptions({ messages })
    const result = (toolCallId: string, type: string, value: string) => ({
      type: 'tool-result',
      toolCallId,
      toolName: 'look',
      output: { type, value },
    })
    expect(options.prompt).toEqual([
      { role: 'system', content: 'You are under test.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
          { type: 'file', mediaType: 'image/jpeg', data: { type: 'url', url: new URL('https://example.com/a.jpg') } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: { path: 'x' } },
          { type: 'tool-call', toolCallId: 'b_2', toolName: 'look', input: { raw_arguments: '{"pa' } },
        ],
      },
      { role: 'tool', content: [result('a', 'text', 'here'), result('b_2', 'error-text', 'bad arguments')] },
      { role: 'user', content: [{ type: 'text', text: '(empty)' }] },
    ])
  })

  test('MO64 a conversation with tool calls and no tools declares them with tool choice none', () => {
    const call = { type: 'tool-call' as const, id: 'a', name: 'git.log', input: {} }
    const messages: Message[] = [
      userMessage('go'),
      { role: 'assistant', content: [call, { ...call, id: 'b' }] },
      { role: 'tool', content: [{ type: 'tool-result', id: 'a', name: 'git.log', text: 'x', is_error: false }] },
      userMessage('Summarize.'),
    ]
    const { tools, toolChoice } = callOptions({ messages })
    expect(tools?.map(({ name }) => name)).toEqual(['git_log'])
    expect(toolChoice).toEqual({ type: 'none' })
  })

  test('MO3 settings and the output schema are sent; strict mode is used only for a schema that supports it', () => {
    const settings = { temperature: 0.2, max_output: 99 }
    const closed = {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'string' } } },
      required: ['list'],
      additionalProperties: false,
    }
    const options = callOptions({ settings, output: closed })
    expect(options).toMatchObject({ temperature: 0.2, maxOutputTokens: 99 })
    expect(options.responseFormat).toEqual({ type: 'json', schema: closed })
    expect(options.providerOptions?.openai).toEqual({ strictJsonSchema: true })
    const optional = { ...closed, required: [] }
    const nested = { ...closed, properties: { list: { type: 'object', properties: { a: { type: 'string' } } } } }
    for (const output of [optional, nested]) {
      expect(callOptions({ output }).providerOptions?.openai).toEqual({ strictJsonSchema: false })
    }
    const withoutSettings = callOptions()
    for (const key of ['temperature', 'maxOutputTokens', 'responseFormat', 'providerOptions']) {
      expect(withoutSettings).not.toHaveProperty(key)
    }
  })

  test('MO6 Claude gets at most four cache breakpoints, a single message without tools only the one after the system prompt', () => {
    const claude = { provider: 'anthropic.messages', modelId: 'claude-x' }
    const breakpointCount = (request: LanguageModelV4CallOptions) =>
      JSON.stringify(request).match(/cacheControl/g)?.length ?? 0
    const tools = [{ name: 'a', description: 'a', input: { type: 'object' } }]
    const response: Message = { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] }
    const conversation = [
      userMessage('1'),
      response,
      userMessage('2'),
      response,
      userMessage('3'),
      response,
      userMessage('4'),
    ]
    expect(breakpointCount(callOptions({}, claude))).toBe(1)
    expect(breakpointCount(callOptions({ tools }, claude))).toBe(3)
    expect(breakpointCount(callOptions({ tools, messages: conversation }, claude))).toBe(4)
    expect(breakpointCount(callOptions({ tools, messages: conversation }))).toBe(0)
    const marked = (request: LanguageModelV4CallOptions) =>
      request.prompt.map((message) => message.providerOptions !== undefined)
    const shared = [userMessage('shared'), userMessage('shared too'), userMessage('own')]
    expect(marked(callOptions({ tools, messages: shared }, claude))).toEqual([true, false, true, true])
    expect(marked(callOptions({ messages: shared }, claude))).toEqual([true, false, true, false])
    const { prompt } = callOptions({ tools, messages: conversation }, claude)
    expect(prompt.map((message) => message.providerOptions !== undefined)).toEqual([
      ...[true, false, false, false, false, true, false, true],
    ])
  })
})

test('A23 the reasoning effort is sent only to models that support it', () => {
  const sentEffort = (modelId: string) =>
    callOptions({ settings: { effort: 'high' } }, { provider: 'other', modelId }).reasoning
  const supported = ['claude-opus-5-5', 'claude-sonnet-4-6', 'gpt-5-mini', 'openai/gpt-6.1-sol', 'openai/gpt-oss-120b']
  for (const id of [...supported, 'o3', 'openai/o4-mini', 'gemini-2.5-pro', 'gemini-3.8-flash']) {
    expect.soft(sentEffort(id), id).toBe('high')
  }
  const unsupported = [
    'claude-haiku-4-5',
    'claude-sonnet-4-5-20250929',
    'claude-3-5-haiku',
    'gpt-4o',
    'gpt-4.1',
    'gpt-5-chat-latest',
  ]
  for (const id of [...unsupported, 'gemini-2.0-flash', 'llama3.3', 'mistral-large', 'foo1', 'echo1-mini']) {
    expect.soft(sentEffort(id), id).toBeUndefined()
  }
  expect(callOptions({ settings: {} }, { provider: 'other', modelId: 'o3' })).not.toHaveProperty('reasoning')
})

test('MO73 messages of the user that follow each other are sent as one; images stay apart', () => {
  const image = { type: 'file' as const, media_type: 'image/png', data: 'aGk=' }
  const messages = [
    userMessage('One.'),
    userMessage('Two.'),
    { role: 'user' as const, content: [image] },
    { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'Three.' }] },
    userMessage('Four.'),
  ]
  const { prompt } = callOptions({ messages })
  const sent = prompt.filter(({ role }) => role !== 'system')
  expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(sent[0]?.content).toMatchObject([{ type: 'text', text: 'One.\n\nTwo.' }, { type: 'file' }])
})

test('MO75 images of tool results follow in a message of the user; a model that takes none gets a line instead', () => {
  const files = [{ type: 'file' as const, name: 'image-1', media_type: 'image/png', data: 'aGk=' }]
  const messages: Message[] = [
    userMessage('Look.'),
    { role: 'assistant', content: [{ type: 'tool-call', id: 'a', name: 'look', input: {} }] },
    { role: 'tool', content: [{ type: 'tool-result', id: 'a', name: 'look', text: 'here', is_error: false, files }] },
  ]
  const sent = (modelId: string) =>
    callOptions({ messages }, { provider: 'other', modelId })
      .prompt.slice(3)
      .map(({ role, content }) => [role, content])
  expect(sent('model')).toMatchObject([
    ['tool', [{ output: { type: 'text', value: 'here' } }]],
    [
      'user',
      [
        { type: 'text', text: 'image-1 of the result of look:' },
        { type: 'file', mediaType: 'image/png' },
      ],
    ],
  ])
  expect(sent('deepseek-chat')).toMatchObject([
    ['tool', [{ output: { value: 'here\n[not shown: image-1; the model here/model does not take such files]' } }]],
  ])
})
