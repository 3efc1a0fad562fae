import { TroupeError } from '../errors.ts'

/** Two thousand keys in one map, or any number of small maps. */
const MAX_KEY_COMPARISONS = 2_000_000

/**
 * The options of the `yaml` package for one text of unknown origin. Prevents denial of service: a collection as a key (`? ? ? a`), which no format here
 * has, is written out as text at every level, so that less than 1 KB would take minutes.
 */
export function safeYamlOptions() {
  return { merge: true, stringKeys: true, uniqueKeys: boundedUniqueKeys() }
}

/** The reason in an error of the package, without the position. */
export function yamlErrorReason({ code, message }: { code: string; message: string }): string {
  if (code === 'NON_STRING_KEY') return 'a list or a map cannot be a key'
  if (message.includes('call stack')) return 'it is nested too deeply'
  const [first = ''] = message.split(/ at line \d/)
  return first.replace(/[:.\s]+$/, '').trim()
}

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
