/** Length of the common prefix, by binary search: requests share most of their long text. */
export function commonPrefixLength(a: string, b: string): number {
  let low = 0
  let high = Math.min(a.length, b.length)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (a.slice(0, middle) === b.slice(0, middle)) low = middle
    else high = middle - 1
  }
  return low
}
