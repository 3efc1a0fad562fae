import type { LanguageModelV2, LanguageModelV2CallOptions } from '@ai-sdk/provider'
import { convertArrayToReadableStream, MockLanguageModelV3, MockLanguageModelV4 } from 'ai/test'
import { describe, expect, test } from 'vitest'
import { collectChunks, modelRequest } from '../testing/model-contract.ts'
import { fromLanguageModel } from './ai-sdk.ts'

const USAGE = {
  inputTokens: { total: 4, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: undefined, reasoning: undefined },
}

describe('provider objects', () => {
  test('MO14 the name defaults to provider/model, and limits are set only if given', () => {
    const mock = new MockLanguageModelV4({ provider: 'google.generative-ai', modelId: 'gemini-x' })
    expect(fromLanguageModel(mock).name).toBe('google/gemini-x')
    expect(fromLanguageModel(mock)).not.toHaveProperty('limits')
    expect(fromLanguageModel(mock, { limits: { context: 9 } }).limits).toEqual({ context: 9 })
  })

  test('MO15 provider objects of interface versions 2 and 3 work too', async () => {
    const image = { type: 'file' as const, media_type: 'image/png', data: 'AAAA' }
    const request = modelRequest('go', { messages: [{ role: 'user', content: [image] }] })
    const data = [{ type: 'file', mediaType: 'image/png', data: 'AAAA' }]
    const receivedOptions: LanguageModelV2CallOptions[] = []
    const version2: LanguageModelV2 = {
      specificationVersion: 'v2',
      provider: 'old',
      modelId: 'model',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('must not be called')),
      doStream: async (options) => {
        receivedOptions.push(options)
        const usage = { inputTokens: 4, outputTokens: 2, totalTokens: 6, cachedInputTokens: 3, reasoningTokens: 1 }
        const text = { type: 'text-delta' as const, id: '0', delta: 'Hi' }
        return {
          stream: convertArrayToReadableStream([
            text,
            { type: 'finish' as const, finishReason: 'stop' as const, usage },
          ]),
        }
      },
    }
    const version3 = new MockLanguageModelV3({
      doStream: async () => ({
        stream: convertArrayToReadableStream([
          { type: 'text-delta' as const, id: '0', delta: 'Hi' },
          {
            type: 'finish' as const,
            finishReason: { unified: 'stop' as const, raw: 'stop' },
            usage: USAGE,
          },
        ]),
      }),
    })
    for (const [mock, cached] of [[version2, { cache_read: 3, reasoning: 1 }] as const, [version3, {}] as const]) {
      const { chunks } = await collectChunks(fromLanguageModel(mock).stream(request, new AbortController().signal))
      const usage = { input: 4, output: 2, cache_read: 0, cache_write: 0, reasoning: 0, ...cached }
      expect(chunks).toEqual([
        { type: 'text', text: 'Hi' },
        { type: 'finish', stop: 'end', usage },
      ])
    }
    expect(receivedOptions[0]?.prompt[1]?.content).toEqual(data)
    expect(version3.doStreamCalls[0]?.prompt[1]?.content).toEqual(data)
  })
})
