import { expect, test } from 'vitest'
import type { FilePart } from '../kernel/model.ts'
import { collectChunks, modelRequest } from '../testing/model-contract.ts'
import { isUnsupportedFile } from './known-models.ts'
import { loadProviderModel } from './providers.ts'

const gif: FilePart = { type: 'file', name: 'a.gif', media_type: 'image/gif', data: 'R0lGODlh' }

test('MO71 a file that the model is known not to take fails before the request is sent, and nothing is booked', async () => {
  // Nothing listens at this address: a request would fail with another code.
  const env = { GEMINI_API_KEY: 'k', GEMINI_BASE_URL: 'http://127.0.0.1:9' }
  const model = await loadProviderModel('google/gemini-2.5-flash', { env })
  const request = modelRequest('go', { messages: [{ role: 'user', content: [gif] }] })
  const { thrown } = await collectChunks(model.stream(request, new AbortController().signal))
  expect(thrown).toMatchObject({
    code: 'model_unsupported',
    message: 'the model google/gemini-2.5-flash does not take image/gif, the type of a.gif',
    usage: { input: 0, output: 0 },
  })
})

test('MO71 text-only models are known by their ids, others are tried', () => {
  const unsupported = ['gpt-3.5-turbo', 'o3-mini', 'deepseek/deepseek-chat', 'openai/gpt-oss-120b']
  for (const modelId of unsupported)
    expect(isUnsupportedFile({ provider: 'openai.chat', modelId }, 'image/png'), modelId).toBe(true)
  for (const modelId of ['gpt-4o', 'claude-haiku-4-5', 'some-model', 'deepseek-vl2'])
    expect(isUnsupportedFile({ provider: 'openai.chat', modelId }, 'image/png'), modelId).toBe(false)
})
