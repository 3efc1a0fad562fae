/*
 * JSON values with every string, list and object stored once.
 * 1. Parts come before the value that they are a part of; the last entry is the value itself.
 * 2. Equal parts are one entry: the hundred prompts of a session share their messages, on disk and in memory.
 */

/** A string, number, boolean or null; a list or an object of the positions of its parts. */
export type PoolEntry = string | number | boolean | null | readonly number[] | Readonly<Record<string, number>>

export interface ValuePool {
  readonly entries: readonly PoolEntry[]
  /** The position of a value; `undefined` becomes `null`, and fields that are `undefined` are left out. */
  add(value: unknown): number
  /** The position of an object whose parts are in the pool already. */
  addRecord(fields: Readonly<Record<string, number>>): number
}

/** `mapText` changes every string that is added, such as cutting long ones. */
export function createValuePool(mapText: (text: string) => string = (text) => text): ValuePool {
  const entries: PoolEntry[] = []
  const positions = new Map<string | number | boolean | null, number>()
  const composite = new Map<string, number>()
  const objects = new Map<object, number>()

  const intern = <Key>(known: Map<Key, number>, key: Key, entry: PoolEntry): number => {
    const position = known.get(key)
    if (position !== undefined) return position
    known.set(key, entries.push(entry) - 1)
    return entries.length - 1
  }
  const addRecord = (fields: Readonly<Record<string, number>>): number => {
    const key = Object.entries(fields).map(([name, part]) => `${JSON.stringify(name)}${part}`)
    return intern(composite, `{${key.join()}`, fields)
  }
  const addObject = (value: object): number => {
    if (Array.isArray(value)) {
      const parts = value.map(add)
      return intern(composite, `[${parts.join()}`, parts)
    }
    const fields = Object.entries(value).flatMap(([name, part]) => (part === undefined ? [] : [[name, add(part)]]))
    return addRecord(Object.fromEntries(fields))
  }
  function add(value: unknown): number {
    if (typeof value === 'string') {
      const text = mapText(value)
      return intern(positions, text, text)
    }
    if (typeof value === 'number' || typeof value === 'boolean') return intern(positions, value, value)
    if (typeof value !== 'object' || value === null) return intern(positions, null, null)
    const known = objects.get(value)
    if (known !== undefined) return known
    const position = addObject(value)
    objects.set(value, position)
    return position
  }
  return { entries, add, addRecord }
}

/** The value of a pool. Equal parts are the same object: do not change it. */
export function valueFromPool(entries: readonly PoolEntry[]): unknown {
  const values: unknown[] = []
  for (const entry of entries) {
    if (Array.isArray(entry)) values.push(entry.map((position) => values[position]))
    else if (typeof entry === 'object' && entry !== null)
      values.push(Object.fromEntries(Object.entries(entry).map(([name, position]) => [name, values[position]])))
    else values.push(entry)
  }
  return values.at(-1)
}
