import { expect, test } from 'vitest'
import { requireEventStream } from './event-stream-guard.ts'

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
