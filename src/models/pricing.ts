import type { Usage } from '../kernel/model.ts'
import type { PriceBook } from '../kernel/spend.ts'
import { sumUsd } from '../kernel/spend.ts'
import { ENDPOINTS, providerName } from './endpoints.ts'
import type { Price, PriceFile, Rates } from './price-file.ts'

/*
 * Prices of model requests, computed on demand.
 * 1. The price on the day of the request applies, not today's.
 * 2. A model in no price file has an unknown cost, never zero.
 * 3. Local servers and scripts cost nothing.
 */

const FREE_PROVIDERS = new Set(['scripted', ...ENDPOINTS.filter(({ local }) => local).map(({ provider }) => provider)])
const TOKENS_PER_RATE = 1_000_000
/** A dated model id, which shares the price of its alias. */
const DATE_SUFFIX = /-\d{4}-?\d{2}-?\d{2}$/

/** Loads the built-in prices and the given files; for the same model the later file wins. */
export async function loadPrices(paths: readonly string[] = []): Promise<PriceBook> {
  const builtIn = await readBuiltInPrices()
  if (paths.length === 0) return createPriceBook(builtIn)
  const { readPriceFile } = await import('./price-file.ts')
  return createPriceBook(builtIn, ...(await Promise.all(paths.map(readPriceFile))))
}

/** Imported, so that a bundler includes it. A test validates the file; validating it in every process would take 10 ms of its first answer. */
async function readBuiltInPrices(): Promise<PriceFile> {
  const { default: prices } = await import('./prices.json', { with: { type: 'json' } })
  return prices as PriceFile
}

export function createPriceBook(...files: readonly PriceFile[]): PriceBook {
  const byModel = new Map<string, readonly Price[]>()
  const findPrices = (model: string) => {
    let prices = byModel.get(model)
    if (!prices) {
      const name = model.replace(/^openai-chat\//, 'openai/')
      prices = pricesForModel(name, files)
      if (prices.length === 0) prices = pricesForModel(name.replace(DATE_SUFFIX, ''), files)
      byModel.set(model, prices)
    }
    return prices
  }
  return {
    cost(model, usage, time) {
      const rates = ratesFor(findPrices(model), usage, time)
      if (rates) return costAtRates(rates, usage)
      return FREE_PROVIDERS.has(providerName(model)) ? 0 : undefined
    },
  }
}

/** The prices of a model, oldest first: the most specific entries of the last file that lists it. */
function pricesForModel(model: string, files: readonly PriceFile[]): readonly Price[] {
  for (const { prices } of files.toReversed()) {
    const matching = prices.filter((price) => matchesModel(price.model, model))
    const longest = Math.max(...matching.map((price) => specificity(price.model)))
    const mostSpecific = matching.filter((price) => specificity(price.model) === longest)
    if (mostSpecific.length > 0) return mostSpecific.toSorted((a, b) => a.from.localeCompare(b.from))
  }
  return []
}

function matchesModel(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : pattern === model
}

function specificity(pattern: string): number {
  return pattern.endsWith('*') ? pattern.length - 1 : Number.MAX_SAFE_INTEGER
}

function ratesFor(prices: readonly Price[], usage: Usage, time: number): Rates | undefined {
  if (prices.length === 0) return undefined
  const day = new Date(time).toISOString().slice(0, 10)
  const price = prices.findLast(({ from }) => from <= day)
  return price?.long && usage.input > price.long.over ? price.long.usd_per_million : price?.usd_per_million
}

function costAtRates(rates: Rates, { input, output, cache_read, cache_write, reasoning }: Usage): number {
  const uncachedInput = Math.max(0, input - cache_read - cache_write)
  const textOutput = Math.max(0, output - reasoning)
  const sum =
    uncachedInput * rates.input +
    cache_read * (rates.cache_read ?? rates.input) +
    cache_write * (rates.cache_write ?? rates.input) +
    textOutput * rates.output +
    reasoning * (rates.reasoning ?? rates.output)
  return sumUsd(sum / TOKENS_PER_RATE)
}
