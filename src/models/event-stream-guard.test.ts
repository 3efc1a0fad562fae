import { expect, test } from 'vitest'
import { userMessage } from '../kernel/model.ts'
import { requireEventStream } from './event-stream-guard.ts'
import { loadProviderModel } from './providers.ts'

const CONTEXT = { name: 'compatible/m', variables: { base: 'TROUPE_COMPATIBLE_BASE_URL' }, secrets: ['hush-hush'] }

function fetchGuarded(chunks: readonly string[], init: ResponseInit): Promise<Response> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })
  return requireEventStream(async () => new Response(body, init), CONTEXT)('http://127.0.0.1')
}

test('MO25 server-sent events pass unchanged, whatever the content type', async () => {
  for (const type of ['text/event-stream; charset=utf-8', 'text/plain', 'application/json']) {
    const response = await fetchGuarded(['\n', 'da', 'ta: {"a":1}\n\n', 'data: [DONE]\n\n'], {
      headers: { 'content-type': type },
    })
    expect(await response.text()).toBe('\ndata: {"a":1}\n\ndata: [DONE]\n\n')
  }
})

test('MO26 any other successful response is model_invalid_response with a redacted excerpt; error responses pass unchanged', async () => {
  const json = { headers: { 'content-type': 'application/json' } }
  await expect(fetchGuarded(['{"ok": true, "key": "hush-hush"}'], json)).rejects.toMatchObject({
    code: 'model_invalid_response',
    retry: true,
    message: 'compatible/m returned an invalid response: {"ok": true, "key": "[key]"}',
  })
  await expect(fetchGuarded(['<!DOCTYPE html><p>Hi'], {})).rejects.toMatchObject({ retry: false, usage: { input: 0 } })
  await expect(fetchGuarded([], {})).rejects.toMatchObject({ message: expect.stringContaining('(empty)') })
  expect((await fetchGuarded(['<html>'], { status: 502 })).status).toBe(502)
})

const PROVIDERS = {
  'anthropic/claude-haiku-5-5': ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL'],
  'openai/gpt-4o': ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
  'openai-chat/gpt-4o': ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
  'google/gemini-2.5-flash': ['GEMINI_API_KEY', 'GEMINI_BASE_URL'],
  'compatible/m': ['TROUPE_COMPATIBLE_API_KEY', 'TROUPE_COMPATIBLE_BASE_URL'],
} as const

test.each(Object.entries(PROVIDERS))(
  'MO26 a stream of %s that is no JSON is an invalid response, tried again, with the variable of the base URL',
  async (name, [key, base]) => {
    const body = 'data: {"choices": [{"delta": {"cont\n\n'
    const fetch = async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    const model = await loadProviderModel(name, { env: { [key]: 'a-key', [base]: 'http://127.0.0.1:9' }, fetch })
    const session = { run_id: 'r', session_id: 's', agent: 'a', turn: 1, marks: [] }
    const messages = [userMessage('Hi.')]
    const request = { ...{ key: 'k', model: name, system: '', messages, tools: [], settings: {} }, session }
    const read = async () => {
      for await (const _ of model.stream(request, new AbortController().signal));
    }
    await expect(read()).rejects.toMatchObject({
      ...{ code: 'model_invalid_response', retry: true, message: expect.stringContaining('invalid response') },
      hint: expect.stringContaining(base),
    })
  },
)
