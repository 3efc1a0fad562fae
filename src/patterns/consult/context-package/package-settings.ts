/** Settings under `consult.context`. */
export interface ContextPackageConfig {
  budget_tokens?: number | undefined
}

export const DEFAULT_BUDGET_TOKENS = 3500
/** Question and instructions need some room. */
export const MIN_BUDGET_TOKENS = 500
