import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import type { ProviderOptions } from '../kernel/model.ts'

/** A model of any provider package that implements the AI SDK's provider interface, version 2, 3 or 4. */
export type LanguageModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2

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
