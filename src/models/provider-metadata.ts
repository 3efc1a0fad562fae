import type { SharedV4ProviderMetadata } from '@ai-sdk/provider'

/** What a provider wants back unchanged with a part of its answer, and whose it is. */
export interface ProviderMetadata {
  model: string
  metadata?: SharedV4ProviderMetadata
}

/**
 * What was kept with a part, if this model wrote it. A signature of one model makes another refuse the request, so
 * nothing crosses over after a fallback.
 */
export function providerMetadataFor(model: string, part: object): ProviderMetadata | undefined {
  const kept = (part as { provider?: Partial<ProviderMetadata> | null }).provider
  return kept?.model === model ? (kept as ProviderMetadata) : undefined
}
