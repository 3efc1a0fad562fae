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

/** A port of async functions whose modules are imported with the first call. */
export function lazyPort<T extends object>(open: () => Promise<T>): T {
  const port = lazy(open)
  return new Proxy({} as T, {
    // Whoever awaits the port itself must not take it for a promise.
    get: (_target, name) => (name === 'then' ? undefined : callLater(port, name)),
  })
}

function callLater<T extends object>(port: Lazy<T>, name: string | symbol): (...values: unknown[]) => Promise<unknown> {
  return async (...values) => {
    const opened = await port.get()
    return Reflect.apply(Reflect.get(opened, name) as () => unknown, opened, values)
  }
}
