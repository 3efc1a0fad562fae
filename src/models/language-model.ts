import type { Model, ProviderOptions } from '../kernel/model.ts'

/**
 * A model of any provider package that implements the AI SDK's provider interface, version 2, 3 or 4. Described by its shape, so that
 * a program needs no package of the AI SDK, and each version of one fits.
 */
export interface LanguageModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  doStream(options: never): PromiseLike<{ stream: ReadableStream; response?: { headers?: Record<string, string> } }>
}

/** A name, a model of Troupe, or one of a provider package of the AI SDK as it is. */
export type ModelInput = string | Model | LanguageModel

export interface LanguageModelOptions {
  /** Name of the model in Troupe. Default: `provider/model`. */
  name?: string
  limits?: { context?: number; output?: number }
  /** Sent with every request, keyed by provider, such as `{ anthropic: { effort: 'low' } }`. */
  provider_options?: ProviderOptions
  /** Environment variables that error hints tell the operator to set. */
  variables?: { key?: string; base?: string }
  /** API keys to redact from errors, in case a server echoes them. */
  secrets?: readonly string[]
  now?: () => number
  /** @internal The `fetch` of the provider tells when a request is sent. */
  reportsSend?: true
}

/** A model with its name in Troupe. */
export interface LanguageModelSource {
  model: LanguageModel
  name: string
  options: LanguageModelOptions
}
