import { didYouMean, nearestNames, TroupeError } from '../errors.ts'
import type { Usage } from '../kernel/model.ts'
import type { PriceBook } from '../kernel/spend.ts'
import { sumUsd } from '../kernel/spend.ts'
import { definedFields } from '../schema/json-value.ts'
import { ENDPOINTS, providerName } from './endpoints.ts'
import { outputLimit } from './known-models.ts'
import type { Price, PriceFile, PriceTable, Rates } from './price-file.ts'

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
  const builtIn = await readPriceTable()
  if (paths.length === 0) return createPriceBook(builtIn)
  const { readPriceFile } = await import('./price-file.ts')
  const files = await Promise.all(paths.map(readPriceFile))
  const index = new PriceIndex([builtIn, ...files])
  for (const [n, { prices }] of files.entries()) {
    for (const [entry, price] of prices.entries())
      checkReference(index, price, { field: `${paths[n]}: prices[${entry}].same_as`, chain: [] })
  }
  return priceBookFrom(index)
}

/** Fails if `same_as` names a model without a price, or leads back to itself. */
export function checkReference(
  index: PriceIndex,
  price: Price,
  { field, chain }: { field: string; chain: readonly Price[] },
): void {
  if (price.same_as === undefined) return
  const next = [...chain, price]
  if (chain.includes(price)) {
    const names = next.map(({ model }) => model).join(' → ')
    throw new TroupeError('invalid_prices', `${field} leads back to itself: ${names}`, { hint: 'name another model' })
  }
  const prices = index.find(price.same_as)
  if (prices.length === 0 && !isFree(price.same_as)) {
    const alternatives = nearestNames(price.same_as, index.models)
    throw new TroupeError('invalid_prices', `${field}: no price is known for '${price.same_as}'`, {
      alternatives,
      hint: didYouMean(price.same_as, alternatives),
    })
  }
  for (const target of prices) checkReference(index, target, { field, chain: next })
}

/** Imported, so that a bundler includes it. A test validates the file; validating it in every process would take 10 ms of its first answer. */
async function readPriceTable(): Promise<PriceTable> {
  const { default: prices } = await import('./prices.json', { with: { type: 'json' } })
  return prices as PriceTable
}

/** Context window and longest response of a model, as far as they are known. */
export async function knownLimits(name: string): Promise<{ context?: number; output?: number } | undefined> {
  const provider = providerName(name)
  const limits = definedFields({
    context: await contextWindow(name),
    output: outputLimit(provider, name.slice(provider.length + 1)),
  })
  return Object.keys(limits).length > 0 ? limits : undefined
}

/** The context window of a model in the built-in table. */
export async function contextWindow(model: string): Promise<number | undefined> {
  const { prices } = await readPriceTable()
  const find = (name: string): PriceTable['prices'][number] | undefined => {
    const entry = prices.find(({ model }) => model === name)
    return entry?.same_as === undefined ? entry : { ...find(entry.same_as), ...entry }
  }
  return spellings(model)
    .map((name) => find(name)?.context)
    .find((context) => context !== undefined)
}

export function createPriceBook(...files: readonly PriceFile[]): PriceBook {
  return priceBookFrom(new PriceIndex(files))
}

function priceBookFrom(index: PriceIndex): PriceBook {
  return {
    cost(model, usage, time) {
      const day = new Date(time).toISOString().slice(0, 10)
      let name = model
      let price = index.priceOn(day, name)
      while (price?.same_as !== undefined) {
        name = price.same_as
        price = index.priceOn(day, name)
      }
      const rates = ratesFor(price, usage)
      if (rates) return costAtRates(rates, usage)
      return isFree(name) ? 0 : undefined
    },
  }
}

function isFree(model: string): boolean {
  return FREE_PROVIDERS.has(providerName(model))
}

/** Names under which the price of a model may be listed. */
function spellings(model: string): string[] {
  const name = model.replace(/^openai-chat\//, 'openai/')
  return [name, name.replace(DATE_SUFFIX, '')]
}

/** Prices by model: the most specific entries of the last file that lists it, oldest first. */
export class PriceIndex {
  readonly #files: { exact: Map<string, Price[]>; wildcards: Price[] }[]
  readonly #found = new Map<string, readonly Price[]>()

  constructor(files: readonly PriceFile[]) {
    this.#files = files.toReversed().map(({ prices }) => ({
      exact: Map.groupBy(prices, ({ model }) => model),
      wildcards: prices.filter(({ model }) => model.endsWith('*')),
    }))
  }

  get models(): string[] {
    return this.#files.flatMap(({ exact }) => [...exact.keys()])
  }

  find(model: string): readonly Price[] {
    let prices = this.#found.get(model)
    if (!prices) {
      prices =
        spellings(model)
          .map((name) => this.#search(name))
          .find(({ length }) => length > 0) ?? []
      this.#found.set(model, prices)
    }
    return prices
  }

  priceOn(day: string, model: string): Price | undefined {
    return this.find(model).findLast(({ from = '' }) => from <= day)
  }

  #search(name: string): readonly Price[] {
    for (const { exact, wildcards } of this.#files) {
      const matching = wildcards.filter(({ model }) => name.startsWith(model.slice(0, -1)))
      const longest = Math.max(...matching.map(({ model }) => model.length))
      const prices = exact.get(name) ?? matching.filter(({ model }) => model.length === longest)
      if (prices.length > 0) return prices.toSorted((a, b) => (a.from ?? '').localeCompare(b.from ?? ''))
    }
    return []
  }
}

function ratesFor(price: Price | undefined, usage: Usage): Rates | undefined {
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
