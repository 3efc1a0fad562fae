/** Work on the same name happens one after the other, on different names side by side. */
export class KeyedMutex {
  private readonly tails = new Map<string, Promise<void>>()

  async runExclusive<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.tails.get(name) ?? Promise.resolve()
    const mine = before.then(work)
    const over = mine.then(
      () => undefined,
      () => undefined,
    )
    this.tails.set(name, over)
    try {
      return await mine
    } finally {
      if (this.tails.get(name) === over) this.tails.delete(name)
    }
  }
}
