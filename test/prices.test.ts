import { readFileSync } from 'node:fs'
import { calcPrice, findProvider } from '@pydantic/genai-prices'
import { describe, expect, test } from 'vitest'
import { createPriceTable, formatPriceTable, readPricesByHand } from '../.ci/price-table.ts'
import { NO_USAGE } from '../src/kernel/model.ts'
import { createPriceBook, loadPrices } from '../src/models/pricing.ts'

const DAY = Date.parse('2026-11-19T12:00:00Z')
const byModel = Map.groupBy(createPriceTable().prices, ({ model }) => model)

describe('the built-in prices', () => {
  test('MO83 they are what `npm run prices` writes', () => {
    expect(formatPriceTable(createPriceTable())).toBe(readFileSync('src/models/prices.json', 'utf8'))
  })

  test('MO83 the file by hand has only what the source lacks', () => {
    for (const { model, usd_per_million, same_as } of readPricesByHand()) {
      expect(byModel.get(model)?.length, model).toBe(1)
      const [providerId = '', id = ''] = model.split('/')
      const inSource = findProvider({ providerId })?.models.find((each) => each.id === id)
      if (usd_per_million ?? same_as) expect(inSource, model).toBeUndefined()
      else expect(inSource?.context_window, model).toBeUndefined()
    }
  })

  test('MO83 a model costs what the source says for this id, and an id that only begins like another one is unknown', async () => {
    const book = await loadPrices()
    const usage = { ...NO_USAGE, input: 1_000_000, output: 1000, cache_read: 400_000 }
    for (const model of [
      'anthropic/claude-opus-5-5',
      'openai/gpt-6-luna',
      'google/gemini-3.8-flash',
      'openai/gpt-4o-2024-08-06',
    ]) {
      const [providerId = '', id = ''] = model.split('/')
      const tokens = { input_tokens: usage.input, output_tokens: usage.output, cache_read_tokens: usage.cache_read }
      const expected = calcPrice(tokens, id, { providerId, timestamp: new Date(DAY) })?.total_price
      expect(book.cost(model, usage, DAY), model).toBeCloseTo(expected ?? -1, 9)
    }
    expect(book.cost('google/gemini-3.8-flash', usage, Date.parse('2027-01-01'))).toBeCloseTo(0.9675, 9)
    expect(book.cost('anthropic/claude-haiku-4-5-20251001', usage, DAY)).toBeGreaterThan(0)
    expect(book.cost('openrouter/openai/gpt-6.1-terra', usage, DAY)).toBe(book.cost('openai/gpt-6.1-terra', usage, DAY))
    expect(book.cost('openrouter/meta-llama/llama-3.3-70b-instruct:free', usage, DAY)).toBe(0)
    expect(calcPrice({ input_tokens: 1 }, 'claude-sonnet-5-9', { providerId: 'anthropic' })).not.toBeNull()
    for (const unknown of ['anthropic/claude-sonnet-5-9', 'google/lyria-3-pro-preview', 'openai/whisper-1'])
      expect(book.cost(unknown, usage, DAY), unknown).toBeUndefined()
  })

  test('MO83 what the usage of a request cannot tell apart counts at the dearer rate, and the table says so', () => {
    const { note, prices } = createPriceTable()
    const book = createPriceBook({ prices })
    const written = { ...NO_USAGE, input: 1_000_000, cache_write: 1_000_000 }
    expect(book.cost('anthropic/claude-opus-5-5', written, DAY)).toBe(8)
    expect(note).toMatch(/cache_write of .*anthropic\/claude-opus-5-5/)
  })
})
