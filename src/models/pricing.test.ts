import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Usage } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import { knownModelNames, ROLE_MODELS } from './known-models.ts'
import type { Price, PriceFile } from './price-file.ts'
import { parsePriceFile, readPriceFile } from './price-file.ts'
import { checkReference, contextWindow, createPriceBook, loadPrices, PriceIndex } from './pricing.ts'

const DAY = Date.parse('2026-11-15T12:00:00Z')
const MILLION: Usage = { ...NO_USAGE, input: 1_000_000, output: 1_000_000 }

function file(...prices: Price[]): PriceFile {
  return { updated: '2026-11-15', prices }
}

function price(model: string, input: number, changes: Partial<Price> = {}): Price {
  return { model, from: '2026-01-01', usd_per_million: { input, output: 10 * input }, ...changes }
}

describe('the cost of requests', () => {
  test('MO57 the price on the day of the request applies', () => {
    const book = createPriceBook(file(price('a/m', 2, { from: '2026-06-01' }), price('a/m', 1)))
    const costs = ['2025-12-31', '2026-01-01', '2026-05-31', '2026-06-01'].map((day) =>
      book.cost('a/m', MILLION, Date.parse(`${day}T00:00:00Z`)),
    )
    expect(costs).toEqual([undefined, 11, 11, 22])
    const always = createPriceBook(file({ model: 'a/m', usd_per_million: { input: 1, output: 10 } }))
    expect(always.cost('a/m', MILLION, Date.parse('1999-01-01'))).toBe(11)
  })

  test('MO58 cached input and reasoning use their own rates, or else the input and output rates', () => {
    const usage = { input: 100, cache_read: 70, cache_write: 20, output: 30, reasoning: 12 }
    const rates = { input: 1000, output: 2000, cache_read: 100, cache_write: 1250, reasoning: 3000 }
    const book = createPriceBook(file({ ...price('a/m', 1), usd_per_million: rates }, price('b/m', 1000)))
    const full = (10 * 1000 + 70 * 100 + 20 * 1250 + 18 * 2000 + 12 * 3000) / 1_000_000
    expect(book.cost('a/m', usage, DAY)).toBeCloseTo(full, 12)
    expect(book.cost('b/m', usage, DAY)).toBeCloseTo((100 * 1000 + 30 * 10_000) / 1_000_000, 12)
  })

  test('MO59 an unlisted model has an unknown cost; scripts and local servers cost nothing', () => {
    const book = createPriceBook(file(price('a/m', 1)))
    for (const model of ['a/other', 'openrouter/a/m', 'compatible/m', 'm']) {
      expect(book.cost(model, MILLION, DAY), model).toBeUndefined()
    }
    for (const model of ['scripted', 'scripted:a.json', 'ollama/llama3:8b', 'lmstudio/m', 'llamacpp/m', 'vllm/m']) {
      expect(book.cost(model, MILLION, DAY), model).toBe(0)
    }
  })

  test('MO60 a later file wins; within a file the more specific name wins', () => {
    const builtIn = file(price('a/*', 1), price('a/m*', 2), price('a/m', 3), price('openai/gpt*', 7))
    const book = createPriceBook(builtIn, file(price('a/m', 4, { from: '2026-03-01' }), price('vllm/*', 5)))
    const input = { ...NO_USAGE, input: 1_000_000 }
    expect(book.cost('a/x', input, DAY)).toBe(1)
    expect(book.cost('a/m-2026-01-01', input, DAY)).toBe(2)
    expect(book.cost('a/m', input, DAY)).toBe(4)
    expect(book.cost('vllm/m', input, DAY)).toBe(5)
    expect(book.cost('openai-chat/gpt-x', input, DAY)).toBe(7)
  })

  test('MO61 an input over long.over uses the long rates for the whole request', () => {
    const long = { over: 1000, usd_per_million: { input: 20, output: 30 } }
    const book = createPriceBook(file(price('a/m', 1, { long })))
    expect(book.cost('a/m', { ...NO_USAGE, input: 1000, output: 1000 }, DAY)).toBeCloseTo(0.011, 12)
    expect(book.cost('a/m', { ...NO_USAGE, input: 1001, output: 1000 }, DAY)).toBeCloseTo(0.05002, 12)
  })
})

describe('price files', () => {
  async function withFile<T>(prices: object[], use: (path: string) => Promise<T>): Promise<T> {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-prices-'))
    const path = join(folder, 'mine.json')
    writeFileSync(path, JSON.stringify({ prices }))
    try {
      return await use(path)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  test('MO84 same_as gives a model the price of another one on that day, a local server included', async () => {
    const prices = [
      { model: 'gateway/*', same_as: 'gateway/main' },
      { model: 'gateway/main', same_as: 'anthropic/claude-opus-5' },
      { model: 'gateway/main', from: '2026-11-01', usd_per_million: { input: 1, output: 2 } },
      { model: 'gateway/local', same_as: 'ollama/llama3' },
      { model: 'gateway/dated', same_as: 'anthropic/claude-opus-5-20260724' },
    ]
    const book = await withFile(prices, (path) => loadPrices([path]))
    const cost = (model: string, day: string) => book.cost(model, MILLION, Date.parse(day))
    expect([cost('gateway/x', '2026-10-31'), cost('gateway/x', '2026-11-01')]).toEqual([30, 3])
    expect([cost('gateway/local', '2026-11-01'), cost('gateway/dated', '2026-11-01')]).toEqual([0, 30])
  })

  test('MO84 same_as that names no priced model is refused with the nearest, one that leads back to itself with its way', async () => {
    const unknown = [
      { model: 'a/m', usd_per_million: { input: 1, output: 1 } },
      { model: 'b/m', same_as: 'anthropic/claude-sonet-5-5' },
    ]
    await withFile(unknown, (path) =>
      expect(loadPrices([path])).rejects.toMatchObject({
        code: 'invalid_prices',
        message: `${path}: prices[1].same_as: no price is known for 'anthropic/claude-sonet-5-5'`,
        alternatives: expect.objectContaining({ 0: 'anthropic/claude-sonnet-5-5' }),
      }),
    )
    for (const [prices, names] of [
      [[{ model: 'a/m', same_as: 'a/m' }], 'a/m → a/m'],
      [
        [
          { model: 'a/m', same_as: 'b/m' },
          { model: 'b/*', same_as: 'a/m' },
        ],
        'a/m → b/* → a/m',
      ],
    ] as const) {
      await withFile([...prices], (path) =>
        expect(loadPrices([path])).rejects.toThrow(`${path}: prices[0].same_as leads back to itself: ${names}`),
      )
    }
  })

  test('MO62 an invalid file is invalid_prices with file, path and problem', async () => {
    const parseError = (text: string) => {
      try {
        parsePriceFile(text, 'mine.json')
      } catch (error) {
        return error
      }
      return undefined
    }
    expect(parseError('{')).toMatchObject({
      code: 'invalid_prices',
      message: expect.stringMatching(/^mine.json: not JSON/),
    })
    const bad = file(price('a/m', 1), price('a/*m', -1, { from: 'today' }))
    const problems = (parseError(JSON.stringify(bad)) as Error).message
    expect(problems).toContain('prices[1].usd_per_million.input: ')
    expect(problems).toContain('prices[1].from: must be a date such as 2026-11-15')
    expect(problems).toContain('prices[1].model: may contain one *, only at the end')
    expect((parseError('{"updated":"2026-01-01","prices":[],"price":1}') as Error).message).toContain('price')
    const both = { ...price('a/m', 1), same_as: 'b/m' }
    for (const entry of [{ model: 'a/m' }, both, { ...both, usd_per_million: undefined, long: price('', 1) }]) {
      expect((parseError(JSON.stringify({ prices: [entry] })) as Error).message).toContain('prices[0]')
    }
    await expect(readPriceFile('/nowhere/prices.json')).rejects.toThrow('/nowhere/prices.json: no such file')
  })

  test('MO63 the built-in prices are valid, list every known model with its context window and are overridden by user files', async () => {
    const { prices } = JSON.parse(readFileSync('src/models/prices.json', 'utf8')) as PriceFile
    const listed = parsePriceFile(
      JSON.stringify({ prices: prices.map((price) => ({ ...price, context: undefined })) }),
      '',
    )
    const index = new PriceIndex([listed])
    for (const each of listed.prices) checkReference(index, each, { field: each.model, chain: [] })
    const book = await loadPrices()
    const models = Object.entries(ROLE_MODELS).flatMap(([provider, ids]) =>
      Object.values(ids).map((id) => `${provider}/${id}`),
    )
    for (const model of [...models, ...knownModelNames()]) {
      expect(book.cost(model, MILLION, DAY), model).toBeGreaterThan(0)
      expect(await contextWindow(model), model).toBeGreaterThan(100_000)
    }
    const own = [price('anthropic/claude-opus-5-5', 1)]
    expect((await withFile(own, (path) => loadPrices([path]))).cost('anthropic/claude-opus-5-5', MILLION, DAY)).toBe(11)
  })
})
