import type { Usage } from './model.ts'

/** What calls cost. `undefined` means that nobody knows, which is never the same as nothing. */
export interface PriceBook {
  cost(model: string, usage: Usage, at: number): number | undefined
}

export const NO_PRICES: PriceBook = { cost: () => undefined }
