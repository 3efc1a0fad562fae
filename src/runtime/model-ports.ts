import { TroupeError, toTroupeError } from '../errors.ts'
import type { Embedder } from '../kernel/embedder.ts'
import type { Model, Models } from '../kernel/model.ts'
import type { Ports } from '../kernel/ports.ts'
import type { PriceBook } from '../kernel/spend.ts'
import type { World } from '../kernel/world.ts'
import { createModelRegistry } from '../models/model-registry.ts'
import { checkModelSettings } from '../models/model-settings.ts'
import { loadPrices } from '../models/pricing.ts'
import { checkRateLimits, createRateLimiter } from '../models/rate-limiter.ts'
import { createRetryPolicy } from '../models/retry.ts'
import { DEFAULT_IDLE_TIMEOUT_MS } from '../performers/model/model-stream.ts'
import type { Store } from '../store/store.ts'
import { issueWarning } from './issue-warning.ts'
import type { AdaptedOptions } from './troupe-options.ts'

interface ModelSources {
  world: World
  /** The models that a program passes as objects, now or with a run. */
  custom: Map<string, Model>
}

/** Models and retry policy; with a cassette, both record or replay. */
export async function modelPorts(
  options: AdaptedOptions,
  { world, custom }: ModelSources,
): Promise<Pick<Ports, 'models' | 'retryPolicy'>> {
  checkRateLimits(options.models?.rateLimits ?? {})
  checkModelSettings(options.models?.settings ?? {})
  checkIdleTimeout(options.models?.idle_timeout_ms)
  const wire = process.env.TROUPE_WIRE
  if (wire) (await import('../models/wire-log.ts')).checkWireFolder(wire)
  const models = options.models?.resolver ?? modelRegistry(options, { world, custom })
  const retryPolicy = options.engine?.retryPolicy ?? createRetryPolicy({ world })
  if (!options.cassette) return { models, retryPolicy }
  const { withCassette } = await import('../models/cassette-file.ts')
  const { findSecrets, secretEnvValues } = await import('../judgement/redaction/redaction.ts')
  const secrets = secretEnvValues(process.env)
  return withCassette({ models, retryPolicy }, options.cassette, {
    findSecrets: (text) => findSecrets(text, secrets),
    warn: (message) => issueWarning(message),
  })
}

function modelRegistry({ model, models }: AdaptedOptions, { world, custom }: ModelSources): Models {
  return createModelRegistry({
    world,
    env: process.env,
    customModels: custom,
    ...(models?.config ? { config: models.config } : undefined),
    ...(models?.settings ? { settings: models.settings } : undefined),
    ...(model === undefined ? undefined : { fallback: model }),
  })
}

/** Price files named by `TROUPE_PRICES` override the built-in prices; empty without any. */
export async function customPricesPort({ models }: AdaptedOptions): Promise<{ prices?: PriceBook }> {
  if (models?.prices) return { prices: models.prices }
  const files = (process.env.TROUPE_PRICES ?? '').split(',').filter((path) => path !== '')
  return files.length > 0 ? { prices: await loadPrices(files) } : {}
}

/** Rate limits that all processes of the store share. Recorded responses need none. */
export function rateLimiterPort(
  { models, cassette }: AdaptedOptions,
  { world, store }: { world: World; store: Store },
): Pick<Ports, 'rateLimiter'> {
  if (!models?.rateLimits || (cassette && 'replay' in cassette)) return {}
  const onError = (error: unknown) => issueWarning(`troupe: tokens were not counted: ${toTroupeError(error).message}`)
  return { rateLimiter: createRateLimiter(models.rateLimits, { world, buckets: store, onError }) }
}

function checkIdleTimeout(idle_timeout_ms: number | undefined): void {
  if (idle_timeout_ms === undefined || (Number.isInteger(idle_timeout_ms) && idle_timeout_ms >= 1)) return
  const message = `\`models.idle_timeout_ms\` is ${idle_timeout_ms}, not a number of milliseconds of at least 1`
  throw new TroupeError('invalid_input', message, { hint: 'set it to a whole number such as 240000, or omit it' })
}

/** Always set, because other processes are told when a request is given up. */
export function idleTimeoutPort({ models }: AdaptedOptions): { idle_timeout_ms: number } {
  return { idle_timeout_ms: models?.idle_timeout_ms ?? DEFAULT_IDLE_TIMEOUT_MS }
}

export function summaryModelPort({ models }: AdaptedOptions): Pick<Ports, 'summaryModel'> {
  const summaryModel = models?.summary ?? (models?.resolver ? undefined : 'fast')
  return summaryModel === undefined ? {} : { summaryModel }
}

/** The local embedder starts its worker thread on first use. */
export async function openEmbedder({ embedder }: AdaptedOptions): Promise<Embedder | undefined> {
  if (embedder === false) return undefined
  return embedder ?? (await import('../knowledge/local-embedder.ts')).localEmbedder()
}
