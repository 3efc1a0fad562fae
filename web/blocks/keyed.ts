export interface Keyed<Item> {
  key: string
  item: Item
}

/** Items with a key for React: their name, and a number where a name comes again. */
export function keyed<Item>(items: readonly Item[], nameOf: (item: Item) => string): Keyed<Item>[] {
  const seen = new Map<string, number>()
  return items.map((item) => {
    const name = nameOf(item)
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return { key: count === 1 ? name : `${name} ${count}`, item }
  })
}
