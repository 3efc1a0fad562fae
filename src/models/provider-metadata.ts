import type { SharedV4ProviderMetadata } from '@ai-sdk/provider'

/** Metadata that a provider expects back unchanged (signatures, encrypted reasoning), and the model that wrote it. */
export interface ProviderMetadata {
  model: string
  metadata?: SharedV4ProviderMetadata
}

/** The metadata of a part if this model wrote it: after a fallback, another model rejects a foreign signature. */
export function providerMetadataFor(model: string, part: object): ProviderMetadata | undefined {
  const { provider } = part as { provider?: Partial<ProviderMetadata> | null }
  return provider?.model === model ? (provider as ProviderMetadata) : undefined
}
