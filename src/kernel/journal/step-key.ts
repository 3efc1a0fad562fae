/* Step keys are paths. */

/** The keys above a step, the nearest first. */
export function ancestorKeys(key: string): string[] {
  const above: string[] = []
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) above.push(key.slice(0, end))
  return above
}

/** Maps recorded keys to renamed ones: whole path segments, the longest old name first. */
export function keyRenamer(renamed: Readonly<Record<string, string>>): (key: string) => string {
  const pairs = Object.entries(renamed).sort(([a], [b]) => b.length - a.length)
  if (pairs.length === 0) return (key) => key
  return (key) => {
    const found = pairs.find(([old]) => `/${key}/`.includes(`/${old}/`))
    return found ? `/${key}/`.replace(`/${found[0]}/`, `/${found[1]}/`).slice(1, -1) : key
  }
}
