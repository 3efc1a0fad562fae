/** Work on the same name happens one after the other, on different names side by side. */
export class TurnsByName {
  private readonly last = new Map<string, Promise<void>>()

  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name) ?? Promise.resolve()
    const mine = before.then(work)
    const over = mine.then(
      () => undefined,
      () => undefined,
    )
    this.last.set(name, over)
    try {
      return await mine
    } finally {
      if (this.last.get(name) === over) this.last.delete(name)
    }
  }
}
