import { expect, test } from 'vitest'
import { requireEventStream } from './event-stream-guard.ts'

const SITE = { name: 'compatible/m', variables: { base: 'TROUPE_COMPATIBLE_BASE_URL' }, secrets: ['hush-hush'] }

function fetching(pieces: readonly string[], init: ResponseInit): Promise<Response> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece))
      controller.close()
    },
  })
  return requireEventStream(async () => new Response(body, init), SITE)('http://127.0.0.1')
}

test('MO25 events pass whole, whatever their server calls them', async () => {
  for (const type of ['text/event-stream; charset=utf-8', 'text/plain', 'application/json']) {
    const response = await fetching(['\n', 'da', 'ta: {"a":1}\n\n', 'data: [DONE]\n\n'], {
      headers: { 'content-type': type },
    })
    expect(await response.text()).toBe('\ndata: {"a":1}\n\ndata: [DONE]\n\n')
  }
})

test('MO26 anything else is garbage, with its first words and without keys; errors pass untouched', async () => {
  const json = { headers: { 'content-type': 'application/json' } }
  await expect(fetching(['{"ok": true, "key": "hush-hush"}'], json)).rejects.toMatchObject({
    code: 'model_invalid_response',
    retry: true,
    message: 'compatible/m answered with something that is no answer of a model: {"ok": true, "key": "[key]"}',
  })
  await expect(fetching(['<!DOCTYPE html><p>Hi'], {})).rejects.toMatchObject({ retry: false, usage: { input: 0 } })
  await expect(fetching([], {})).rejects.toMatchObject({ message: expect.stringContaining('(nothing)') })
  expect((await fetching(['<html>'], { status: 502 })).status).toBe(502)
})
