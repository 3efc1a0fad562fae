/** Arguments of a tool call that are nested more deeply are invalid: what reads, redacts or shows them is recursive. */
export const MAX_ARGUMENT_DEPTH = 256

/** Whether a JSON value has more levels of lists and objects. Looks no deeper than that, so that no value overflows the stack. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((item) => isNestedDeeper(item, levels - 1))
}
