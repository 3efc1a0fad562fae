import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { tool } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sumAccounts } from '../../src/entries/inspect.ts'
import { loadPrices } from '../../src/entries/models.ts'
import { createTroupe } from '../../src/index.ts'
import { agent } from '../support/test-troupe.ts'
import type { MockProvider } from './mock-provider.ts'
import { MOCK_API_KEY, startMockProvider } from './mock-provider.ts'

let mock: MockProvider
beforeAll(async () => {
  mock = await startMockProvider()
})
afterAll(() => mock.stop())

const connection = (path: string) => ({ apiKey: MOCK_API_KEY, baseURL: `${mock.url}${path}` })
const models = {
  'anthropic/claude-sonnet-5-5': () => createAnthropic(connection('/v1'))('claude-sonnet-5-5'),
  'openai/gpt-6-luna': () => createOpenAI(connection('/v1'))('gpt-6-luna'),
  'google/gemini-3.8-flash': () => createGoogle(connection('/v1beta'))('gemini-3.8-flash'),
}

describe('models and tools of AI SDK 7, with the provider APIs', () => {
  test.each(Object.entries(models))(
    'MO85 %s calls a tool, answers with its result, and has a price',
    async (name, model) => {
      await mock.setFixtures([
        {
          match: { userMessage: 'Harbour', hasToolResult: false },
          response: { toolCalls: [{ name: 'weather', arguments: JSON.stringify({ place: 'Harbour' }) }] },
        },
        { match: { userMessage: 'Harbour', hasToolResult: true }, response: { content: 'It is windy.' } },
      ])
      const places: string[] = []
      const weather = tool({
        description: 'The weather of a place.',
        inputSchema: z.object({ place: z.string() }),
        execute: ({ place }) => {
          places.push(place)
          return { wind: 9 }
        },
      })
      const agents = [agent('lead')]
      await using troupe = await createTroupe({ store: 'memory', agents, model: model(), tools: { weather } })
      const { run_id, status, output } = await troupe.run('task', { agent: 'lead', instruction: 'Harbour' })
      expect([status, output, places]).toEqual([
        'completed',
        expect.objectContaining({ response: 'It is windy.' }),
        ['Harbour'],
      ])
      const events = await troupe.events(run_id).all()
      expect(events.flatMap(({ type, data }) => (type === 'model:begin' ? data.model : []))).toEqual([name, name])
      expect(events.flatMap(({ type, data }) => (type === 'tool:post' ? data.output : []))).toEqual([{ wind: 9 }])
      const rows = []
      for await (const row of troupe.accounts({ prices: await loadPrices() })) rows.push(row)
      expect(sumAccounts(rows).unpriced).toBe(0)
    },
  )
})
