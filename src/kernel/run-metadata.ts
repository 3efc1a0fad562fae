/** Data that the program attaches to a run. Tools, hooks and patterns get it; models never do. */
export interface RunMetadata {
  /** Labels to find the run by. */
  readonly tags: readonly string[]
  /** JSON data of the program, such as the id of a customer. It is stored in the journal: no secrets. */
  readonly context: RunContextData
}

export type RunContextData = Readonly<Record<string, unknown>>

export const NO_METADATA: RunMetadata = Object.freeze({ tags: Object.freeze([]), context: Object.freeze({}) })
