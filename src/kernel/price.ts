import type { Usage } from './model.ts'

/** Prices of model requests. `undefined` means an unknown price, not a free call. */
export interface PriceBook {
  cost(model: string, usage: Usage, time: number): number | undefined
}

export const NO_PRICES: PriceBook = { cost: () => undefined }
