import type { Usage } from '../kernel/model.ts'
import type { PriceBook } from '../kernel/price.ts'
import { ENDPOINTS } from './endpoints.ts'
import type { Price, PriceFile, Rates } from './price-file.ts'

/*
 * What calls cost, computed when somebody asks.
 * 1. The price of the day of the call holds, whatever it is today.
 * 2. Nobody knows the price of a model that is in no file: it is unknown, never nothing.
 * 3. What runs on the user's own machine, and scripts, cost nothing.
 */

const FREE_PROVIDERS = new Set(['scripted', ...ENDPOINTS.filter(({ local }) => local).map(({ provider }) => provider)])
const TOKENS_PER_RATE = 1_000_000
/** A model pinned to a day costs what the model costs. */
const DATE_SUFFIX = /-\d{4}-?\d{2}-?\d{2}$/

/** The prices that come with Troupe, then files of the user's own: for the same model the later file wins. */
export async function loadPrices(paths: readonly string[] = []): Promise<PriceBook> {
  const { fileURLToPath } = await import('node:url')
  const { readPriceFile } = await import('./price-file.ts')
  const shipped = fileURLToPath(new URL('../../prices/prices.json', import.meta.url))
  return createPriceBook(...(await Promise.all([shipped, ...paths].map(readPriceFile))))
}

export function createPriceBook(...files: readonly PriceFile[]): PriceBook {
  const byModel = new Map<string, readonly Price[]>()
  const pricesOf = (model: string) => {
    let prices = byModel.get(model)
    if (!prices) {
      const known = model.replace(/^openai-chat\//, 'openai/')
      prices = pricesForModel(known, files)
      if (prices.length === 0) prices = pricesForModel(known.replace(DATE_SUFFIX, ''), files)
      byModel.set(model, prices)
    }
    return prices
  }
  return {
    cost(model, usage, at) {
      const rates = ratesFor(pricesOf(model), usage, at)
      if (rates) return costAt(rates, usage)
      return FREE_PROVIDERS.has(providerOf(model)) ? 0 : undefined
    },
  }
}

/** The prices of one model, oldest first: of the last file that knows it, by the entry that names it most exactly. */
function pricesForModel(model: string, files: readonly PriceFile[]): readonly Price[] {
  for (const { prices } of files.toReversed()) {
    const matching = prices.filter((price) => matchesModel(price.model, model))
    const longest = Math.max(...matching.map((price) => specificity(price.model)))
    const exact = matching.filter((price) => specificity(price.model) === longest)
    if (exact.length > 0) return exact.toSorted((a, b) => a.from.localeCompare(b.from))
  }
  return []
}

function matchesModel(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : pattern === model
}

function specificity(pattern: string): number {
  return pattern.endsWith('*') ? pattern.length - 1 : Number.MAX_SAFE_INTEGER
}

function ratesFor(prices: readonly Price[], usage: Usage, at: number): Rates | undefined {
  const day = new Date(at).toISOString().slice(0, 10)
  const price = prices.findLast(({ from }) => from <= day)
  return price?.long && usage.input > price.long.over ? price.long.usd_per_million : price?.usd_per_million
}

function costAt(rates: Rates, { input, output, cache_read, cache_write, reasoning }: Usage): number {
  const fresh = Math.max(0, input - cache_read - cache_write)
  const spoken = Math.max(0, output - reasoning)
  const sum =
    fresh * rates.input +
    cache_read * (rates.cache_read ?? rates.input) +
    cache_write * (rates.cache_write ?? rates.input) +
    spoken * rates.output +
    reasoning * (rates.reasoning ?? rates.output)
  return sum / TOKENS_PER_RATE
}

/** `scripted:FILE` and `ollama/llama3`. */
function providerOf(model: string): string {
  return model.split(/[/:]/, 1)[0] ?? model
}
