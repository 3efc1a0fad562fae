import { readFile } from 'node:fs/promises'
import { TroupeError } from '../errors.ts'
import { formatFieldPath } from '../schema/json-value.ts'
import * as z from '../schema/zod.ts'

/*
 * A price file:
 *   { "prices": [ { "model": "compatible/our-model*", "from": "2026-09-22",
 *     "usd_per_million": { "input": 0.1, "output": 0.5, "cache_read": 0.01 } },
 *     { "model": "gateway/sonnet", "same_as": "anthropic/claude-sonnet-5-5" } ] }
 */

const amount = z.number().nonnegative()

const rates = z.strictObject({
  input: amount,
  output: amount,
  /** Input read from or written to the provider's cache. Default: the `input` rate. */
  cache_read: amount.optional(),
  cache_write: amount.optional(),
  /** Reasoning tokens. Default: the `output` rate. */
  reasoning: amount.optional(),
})

const day = z.iso.date('must be a date such as 2026-11-15')

const priceEntry = z
  .strictObject({
    /** `provider/model`, with an optional trailing `*` as a wildcard. */
    model: z
      .string()
      .min(1)
      .regex(/^[^*]*\*?$/, 'may contain one *, only at the end'),
    /** The first day of the price. Default: it always held. */
    from: day.optional(),
    usd_per_million: rates.optional(),
    /** The model whose price this one has, such as that behind a gateway. */
    same_as: z.string().min(1).optional(),
    /** Rates for a whole request whose input exceeds `over` tokens. */
    long: z.strictObject({ over: z.number().int().positive(), usd_per_million: rates }).optional(),
    note: z.string().optional(),
  })
  .refine(({ usd_per_million, same_as, long }) => (same_as ? !usd_per_million && !long : usd_per_million), {
    message: 'needs either usd_per_million or same_as',
  })

const priceFile = z.strictObject({ updated: day.optional(), note: z.string().optional(), prices: z.array(priceEntry) })

export type Rates = z.infer<typeof rates>
export type Price = z.infer<typeof priceEntry>
export type PriceFile = z.infer<typeof priceFile>
/** The built-in prices, with context windows. */
export type PriceTable = { note: string; prices: (Price & { context?: number })[] }

export async function readPriceFile(path: string): Promise<PriceFile> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (thrown) {
    const error = thrown as NodeJS.ErrnoException
    throw invalidPriceFileError(path, error.code === 'ENOENT' ? 'no such file' : error.message)
  }
  return parsePriceFile(text, path)
}

export function parsePriceFile(text: string, path: string): PriceFile {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw invalidPriceFileError(path, `not JSON: ${(error as Error).message}`)
  }
  const parsed = priceFile.safeParse(json)
  if (parsed.success) return parsed.data
  throw invalidPriceFileError(path, parsed.error.issues.slice(0, 5).map(formatPriceIssue).join('; '))
}

function formatPriceIssue({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length === 0 ? message : `${formatFieldPath(path)}: ${message}`
}

function invalidPriceFileError(path: string, problem: string): TroupeError {
  return new TroupeError('invalid_prices', `${path}: ${problem}`, {
    hint: 'a price file is {"prices": [{"model", "usd_per_million": {"input", "output"}}, {"model", "same_as"}]}',
  })
}
