/** A value that is created once, when it is first needed. */
export interface Lazy<T> {
  get(): Promise<T>
  /** `undefined` if nobody has needed it so far. */
  peek(): Promise<T> | undefined
}

/** After a failure, the next `get` tries again. */
export function lazy<T>(create: () => Promise<T>): Lazy<T> {
  let value: Promise<T> | undefined
  return {
    get() {
      value ??= create().catch((thrown: unknown) => {
        value = undefined
        throw thrown
      })
      return value
    },
    peek: () => value,
  }
}
