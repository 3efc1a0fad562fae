import { TroupeError } from '../errors.ts'

/** Two thousand keys in one map, or any number of small maps. */
const MAX_KEY_COMPARISONS = 2_000_000

/**
 * The option `uniqueKeys` of the `yaml` package, for one text. Prevents denial of service: the package compares every key of a map with all
 * keys before it, and a file of 1 MB would take minutes. The package reports what it throws as an error of the document.
 */
export function boundedUniqueKeys(maximum = MAX_KEY_COMPARISONS): (left: unknown, right: unknown) => boolean {
  let comparisons = 0
  return (left, right) => {
    if (++comparisons > maximum) {
      throw new TroupeError('invalid_input', 'the YAML text of the file has too many keys in one map', {
        hint: 'use fewer than 2000 keys in each map, for example in `agents`',
      })
    }
    return left === right || (hasValue(left) && hasValue(right) && left.value === right.value)
  }
}

function hasValue(key: unknown): key is { value: unknown } {
  return typeof key === 'object' && key !== null && 'value' in key
}
